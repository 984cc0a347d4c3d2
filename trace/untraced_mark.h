// How a process says that the tracer in it could not make a trace: it holds a memfd of this name, which
// `hotproof run` sees in /proc/PID/fd. Set by the tracer, looked for by ProcessTree.
#pragma once

namespace hotproof::trace {

inline constexpr char kUntracedMark[] = "hotproof-untraced";
// The link in /proc/PID/fd.
inline constexpr char kUntracedLink[] = "/memfd:hotproof-untraced (deleted)";

}  // namespace hotproof::trace
