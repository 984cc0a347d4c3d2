// The probe's kernels as PTX: small, without libraries, each for one question.
//   probe_empty()                       nothing
//   probe_add(p, n, f)                  arguments of 8, 4 and 4 bytes; *p += n
//   probe_count(p)                      *p += 1 by one thread of the grid
//   probe_pdl(p)                        the same, after griddepcontrol.wait
//   probe_block(bytes[128], p)          a 128-byte structure by value; *p += its first word
//   probe_spin(p, ns)                   busy for ns nanoseconds, then *p += 1
#pragma once

namespace probe {

inline constexpr char kPtx[] = R"ptx(
.version 8.0
.target sm_90
.address_size 64

.visible .entry probe_empty() { ret; }

.visible .entry probe_add(.param .u64 p, .param .u32 n, .param .f32 f) {
  .reg .b64 %a; .reg .b32 %n;
  ld.param.u64 %a, [p];
  ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a;
  red.global.add.u32 [%a], %n;
  ret;
}

.visible .entry probe_count(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %t, %b; .reg .pred %q;
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  or.b32 %t, %t, %b;
  setp.ne.u32 %q, %t, 0;
  @%q bra DONE;
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  red.global.add.u64 [%a], 1;
DONE:
  ret;
}

.visible .entry probe_pdl(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %t, %b; .reg .pred %q;
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  or.b32 %t, %t, %b;
  setp.ne.u32 %q, %t, 0;
  @%q bra DONE;
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  red.global.add.u64 [%a], 1;
DONE:
  ret;
}

.visible .entry probe_block(.param .align 64 .b8 m[128], .param .u64 p) {
  .reg .b64 %a; .reg .b32 %n;
  ld.param.u32 %n, [m];
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  red.global.add.u32 [%a], %n;
  ret;
}

.visible .entry probe_spin(.param .u64 p, .param .u64 ns) {
  .reg .b64 %a, %n, %t0, %t1; .reg .pred %q;
  ld.param.u64 %a, [p];
  ld.param.u64 %n, [ns];
  cvta.to.global.u64 %a, %a;
  mov.u64 %t0, %globaltimer;
LOOP:
  mov.u64 %t1, %globaltimer;
  sub.u64 %t1, %t1, %t0;
  setp.lt.u64 %q, %t1, %n;
  @%q bra LOOP;
  red.global.add.u64 [%a], 1;
  ret;
}
)ptx";

// A second module with one kernel of a name that the first has too.
inline constexpr char kSecondPtx[] = R"ptx(
.version 8.0
.target sm_90
.address_size 64
.visible .entry probe_empty() { ret; }
.visible .entry probe_other() { ret; }
)ptx";

}  // namespace probe
