/* What a program may tell hotproof. All of it is optional: the functions are libhotproof.so's, which
   `hotproof run` preloads, and without it the inline ones below do nothing. Any thread; nothing fails.
   C and C++; link nothing (before glibc 2.34: -ldl). */
#pragma once

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the point where a phase begins ("steady"). No effect before CUDA has started. */
__attribute__((weak)) void hotproof_mark(const char* label);

/* Kernels that this thread launches, or captures into a graph, until the matching pop are in the range
   `name` (UTF-8, copied, cut at 255 bytes). Ranges nest with each other and within NVTX's.
   Returns the depth of this range, from 0; negative if it could not be kept (memory is short). */
__attribute__((weak)) int hotproof_range_push(const char* name);

/* Ends this thread's innermost range. Returns its depth; negative if there was none. */
__attribute__((weak)) int hotproof_range_pop(void);

/* The same, doing nothing where libhotproof.so is not loaded. Looked up by name, once a function: in an executable
   that is not position independent a weak function is decided when it is linked. */
static inline void* hotproof_find(void** kept, const char* name) {
  void* const nowhere = (void*)kept; /* looked up and not there */
  void* found = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
  if (!found) {
    found = dlsym((void*)0 /* RTLD_DEFAULT, which C hides */, name);
    if (!found) found = nowhere;
    __atomic_store_n(kept, found, __ATOMIC_RELEASE);
  }
  return found == nowhere ? (void*)0 : found;
}
static inline void hotproof_mark_if_loaded(const char* label) {
  static void* kept;
  void (*const mark)(const char*) = (void (*)(const char*))hotproof_find(&kept, "hotproof_mark");
  if (mark) mark(label);
}
static inline int hotproof_push_if_loaded(const char* name) {
  static void* kept;
  int (*const push)(const char*) = (int (*)(const char*))hotproof_find(&kept, "hotproof_range_push");
  return push ? push(name) : -1;
}
static inline int hotproof_pop_if_loaded(void) {
  static void* kept;
  int (*const pop)(void) = (int (*)(void))hotproof_find(&kept, "hotproof_range_pop");
  return pop ? pop() : -1;
}

#ifdef __cplusplus
}
#endif
