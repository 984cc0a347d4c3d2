// A library that was linked with one version of the answering one.
extern "C" int hotproof_test_answer();
extern "C" __attribute__((visibility("default"))) int hotproof_test_ask() {
  return hotproof_test_answer();
}
