// The time to count the memory of a plan: per device from scratch, per device after a random move
// of one operator or a run of a few, and for thousands of devices that do the same. Processor time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "base/random.h"
#include "lower/live_bytes.h"
#include "lower/planner.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

constexpr int kMoves = 60;

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times.empty() ? 0 : times[times.size() / 2];
}

class PlannedModel {
 public:
  PlannedModel(const std::string& name, const Machine& machine) {
    zoo::ModelRequest asked{.name = name};
    asked.samples.batch = static_cast<std::int64_t>(machine.devices.size());
    model_.graph = zoo::build(asked).train();
    model_.machine = machine;
    model_.kernels.in_place = true;
    model_.strategy = data_parallel(model_.graph, model_.machine);
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    request_ = model_.request();
    request_.outputs.clear();
    planner_.emplace(request_, table_);
    while (std::optional<PlanRefusal> refusal = planner_->plan()) add_rows(*refusal);
  }

  Planner& planner() { return *planner_; }
  const KernelTable& table() const { return table_; }

  void make_others() {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      others_.push_back(random_view_strategy(model_.graph, model_.machine, seed));
      others_.push_back(random_strategy(model_.graph, model_.machine, seed));
    }
  }

  bool move(std::uint64_t number) {
    RandomStream draws{.key = 1, .stream = number};
    const Strategy& other = others_[draws.below(0, others_.size())];
    std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
    std::uint64_t first = draws.below(3, model_.graph.operators.size());
    std::vector<SplitChange> changes;
    for (std::uint64_t at = first; at < std::min(first + count, model_.graph.operators.size());
         ++at)
      changes.push_back(
          {static_cast<std::int32_t>(at), split_of(other, model_.graph.operators[at].name)});
    std::optional<PlanRefusal> refusal = planner_->change(changes);
    while (refusal && std::holds_alternative<MissingRows>(*refusal)) {
      add_rows(*refusal);
      refusal = planner_->change(changes);
    }
    return !refusal;
  }

 private:
  void add_rows(const PlanRefusal& refusal) {
    table_ = model_.kernels.answer(std::get<MissingRows>(refusal).rows, std::move(table_));
  }

  Lowered model_;
  LowerRequest request_;
  KernelTable table_;
  std::optional<Planner> planner_;
  std::vector<Strategy> others_;
};

Machine plain_machine(std::size_t devices) {
  Machine machine;
  machine.devices.assign(devices, {.name = "cpu"});
  return machine;
}

/// `state.range(0)`: whether moves are taken back.
void count_after_moves(benchmark::State& state, const std::string& name) {
  PlannedModel model(name, plain_machine(16));
  model.make_others();
  LiveBytes live(model.planner().folding(), model.table());
  std::vector<double> per_move, per_device, scratch, tasks;
  for (auto iteration : state) {
    live.by_class();
    for (std::uint64_t number = 0; number < kMoves; ++number) {
      if (!model.move(number)) continue;
      std::int64_t before = live.counted();
      double begin = processor_time();
      benchmark::DoNotOptimize(live.by_class());
      double took = processor_time() - begin;
      per_move.push_back(took);
      per_device.push_back(took / static_cast<double>(live.counted() - before));
      tasks.push_back(static_cast<double>(model.planner().graph().tasks[0].size()));
      if (number % 10 == 0) {
        begin = processor_time();
        benchmark::DoNotOptimize(memory_by_class(model.planner().folding(), model.table()));
        scratch.push_back((processor_time() - begin) / model.planner().graph().classes.count());
      }
      if (state.range(0) != 0) model.planner().undo(), live.by_class();
    }
  }
  state.counters["tasks"] = median(tasks);
  state.counters["move_us"] = median(per_move);
  state.counters["device_us"] = median(per_device);
  state.counters["scratch_us"] = median(scratch);
}

/// Data parallelism over nodes of 8 devices, a process each.
void count_many(benchmark::State& state, const std::string& name) {
  std::int64_t nodes = state.range(0) / 8;
  PlannedModel model(name, make_machine({.nodes = {{.count = nodes, .devices = 8, .ranks = 8}}}));
  std::vector<double> first;
  for (auto iteration : state) {
    double begin = processor_time();
    benchmark::DoNotOptimize(memory_by_class(model.planner().folding(), model.table()));
    first.push_back(processor_time() - begin);
  }
  state.counters["classes"] = model.planner().graph().classes.count();
  state.counters["scratch_us"] = median(first);
}

#define TROIKA_MEMORY(name)                         \
  BENCHMARK_CAPTURE(count_after_moves, name, #name) \
      ->Arg(0)                                      \
      ->Arg(1)                                      \
      ->Iterations(1)                               \
      ->Unit(benchmark::kMillisecond)

TROIKA_MEMORY(gpt2);
TROIKA_MEMORY(inception_v3);
TROIKA_MEMORY(resnet101);
TROIKA_MEMORY(nmt);
BENCHMARK_CAPTURE(count_many, resnet101, "resnet101")
    ->Arg(64)
    ->Arg(9216)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troika
