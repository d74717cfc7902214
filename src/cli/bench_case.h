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
  bool without_overlap = false;     ///< Turns Sync::overlap off, to measure its effect.
  bool without_priorities = false;  ///< The same for Sync::priorities.
  bool orders_messages = false;     ///< As 'troika simulate --order-messages' does.
  int repeats = 7;
  std::size_t why = 0;    ///< For this many of the longest tasks: list the candidate kernels.
  std::string backend{};  ///< Empty: cpu if the build has it.
};

struct BenchCase {
  RunConfig config;  ///< Model, batch, optimizer, kernels, threads.
  zoo::Samples samples;
};

/// Throws Error(usage) with a suggestion when there is no such model.
BenchCase make_bench_case(const BenchRequest& request);

}  // namespace troika::cli
