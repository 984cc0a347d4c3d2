// One of two versions of a library in one process: both have the same function.
extern "C" __attribute__((visibility("default"))) int hotproof_test_answer() { return ANSWER; }
