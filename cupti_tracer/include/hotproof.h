/* What a program may tell hotproof. All of it is optional: the functions are libhotproof.so's, which
   `hotproof run` preloads, and without it the inline ones below do nothing. Any thread; nothing fails.
   C and C++; link nothing. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the point where a phase begins ("steady"). No effect before CUDA has started. */
__attribute__((weak)) void hotproof_mark(const char* label);

/* Kernels that this thread launches, or captures into a graph, until the matching pop are in the range
   `name` (UTF-8, copied, cut at 255 bytes). Ranges nest with each other and within NVTX's.
   Returns the depth of this range, from 0. */
__attribute__((weak)) int hotproof_range_push(const char* name);

/* Ends this thread's innermost range. Returns its depth; negative if there was none. */
__attribute__((weak)) int hotproof_range_pop(void);

static inline void hotproof_mark_if_loaded(const char* label) {
  if (hotproof_mark) hotproof_mark(label);
}
static inline int hotproof_push_if_loaded(const char* name) {
  return hotproof_range_push ? hotproof_range_push(name) : -1;
}
static inline int hotproof_pop_if_loaded(void) {
  return hotproof_range_pop ? hotproof_range_pop() : -1;
}

#ifdef __cplusplus
}
#endif
