// What run_test preloads in sanitizer builds in place of the tracer: something to find in a process's maps.
extern "C" __attribute__((visibility("default"))) int hotproof_run_test_library() { return 1; }
