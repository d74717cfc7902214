// The models of `bench step` at their benchmark sizes.
#pragma once

#include <string>

#include "config/run_config.h"
#include "zoo/model.h"

namespace troika::cli {

struct BenchRequest {
  std::string model = "lenet";
  std::int64_t batch = 0;  ///< 0: the model's benchmark batch.
  int threads = 0;         ///< Per device; 0: the cores divided among them.
  int devices = 1;
  std::string plan{};               ///< As in [parallel] plan; empty: "data" on several devices.
  std::int64_t shards = 1;          ///< As in [train] shards.
  bool without_overlap = false;     ///< As Sync::overlap, to see what it brings,
  bool without_priorities = false;  ///< and Sync::priorities.
  int repeats = 7;
  std::size_t why = 0;    ///< For so many of the longest tasks, what their kernel was chosen from.
  std::string backend{};  ///< Empty: what the build has.
};

struct BenchCase {
  RunConfig config;  ///< Model, batch, optimizer, kernels, threads.
  zoo::Samples samples;
};

/// Throws Error(usage) with a suggestion when there is no such model.
BenchCase make_bench_case(const BenchRequest& request);

}  // namespace troika::cli
