// Names a second, with every name new to the catalogue: docs/measurements/catalog.md.
#include <benchmark/benchmark.h>

#include "catalog/classifier.h"
#include "tests/catalog/corpus.h"

namespace hotproof::catalog {
namespace {

std::vector<std::string> NamesOf(size_t shortest, size_t longest) {
  std::vector<std::string> names;
  for (std::string& name : AllNames()) {
    if (name.size() >= shortest && name.size() < longest) names.push_back(std::move(name));
  }
  return names;
}

void ClassifyNames(benchmark::State& state) {
  const auto classifier = Classifier::Create();
  const auto names =
      NamesOf(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  size_t at = 0, bytes = 0;
  for (auto _ : state) {
    const std::string& name = names[at++ % names.size()];
    benchmark::DoNotOptimize(classifier->Classify(name));
    bytes += name.size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ClassifyNames)
    ->ArgNames({"from", "to"})
    ->Args({1, 100})
    ->Args({100, 400})
    ->Args({400, 20000});

void CreateClassifier(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Classifier::Create().ok());
}
BENCHMARK(CreateClassifier);

}  // namespace
}  // namespace hotproof::catalog

BENCHMARK_MAIN();
