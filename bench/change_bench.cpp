// The time to bring a plan on 64 devices up to date after a random move of one operator, or of a
// run of a few, as a search makes them: half views, half placements. Processor time, medians over
// many moves; those that keep the partition of the devices apart from those that change it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>

#include "lower/testing/random_walk.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

constexpr int kMoves = 400;
constexpr std::int64_t kDevices = 64;

double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double median(std::vector<double> times) {
  if (times.empty()) return 0;
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Tasks that the former graph did not have.
std::size_t new_tasks(const FoldedGraph& before, const FoldedGraph& now) {
  std::set<std::uint64_t> known;
  for (const std::vector<FoldedTask>& tasks : before.tasks)
    for (const FoldedTask& task : tasks) known.insert(task.id.bits);
  std::size_t count = 0;
  for (const std::vector<FoldedTask>& tasks : now.tasks)
    for (const FoldedTask& task : tasks) count += known.contains(task.id.bits) ? 0 : 1;
  return count;
}

/// Starts with one sample on each device, or with a random plan, in which most devices are classes
/// of their own.
Lowered first_plan(const std::string& name, bool from_random) {
  Lowered model;
  zoo::ModelRequest asked{.name = name};
  asked.samples.batch = kDevices;
  model.graph = zoo::build(asked).train();
  model.machine = make_machine({.nodes = {{.count = 8, .devices = 8, .ranks = 8}}});
  model.strategy = from_random ? random_view_strategy(model.graph, model.machine, 99)
                               : data_parallel(model.graph, model.machine);
  model.strategy.micro_batches = 1;
  return model;
}

class TimedWalk {
 public:
  TimedWalk(const std::string& name, bool from_random) : walk_(first_plan(name, from_random)) {
    planner_.emplace(walk_.request(), walk_.table());
    if (planner_->plan()) throw Bug("rows are missing");
  }

  /// Every second move is taken back, as those that a search does not accept.
  void move(std::uint64_t number) {
    std::vector<SplitChange> changes = walk_.draw(number);
    // The table of kernels is given, so another planner finds out what is needed.
    if (!walk_.change(changes)) return;
    if (number % 2 == 1) walk_.planner().undo();
    FoldedGraph before = planner_->graph();
    double begin = microseconds();
    benchmark::DoNotOptimize(planner_->change(changes));
    double time = microseconds() - begin;
    note(before, time);
    if (number % 2 == 0) return;
    begin = microseconds();
    planner_->undo();
    undone_.push_back(microseconds() - begin);
  }

  void report(benchmark::State& state) const {
    state.counters["keep_us"] = median(kept_);
    state.counters["kept"] = static_cast<double>(kept_.size());
    state.counters["change_us"] = median(changed_);
    state.counters["changed"] = static_cast<double>(changed_.size());
    state.counters["new_tasks"] = median(added_);
    state.counters["allowed_us"] = 2000 + median(added_);
    state.counters["undo_us"] = median(undone_);
    state.counters["classes"] = planner_->graph().classes.count();
  }

 private:
  void note(const FoldedGraph& before, double time) {
    if (planner_->graph().classes == before.classes) {
      kept_.push_back(time);
    } else {
      changed_.push_back(time);
      added_.push_back(static_cast<double>(new_tasks(before, planner_->graph())));
    }
  }

  RandomWalk walk_;
  std::optional<Planner> planner_;
  std::vector<double> kept_, changed_, added_, undone_;
};

void change_model(benchmark::State& state, const std::string& name, bool from_random) {
  TimedWalk walk(name, from_random);
  for (auto iteration : state)
    for (std::uint64_t number = 0; number < kMoves; ++number) walk.move(number);
  walk.report(state);
}

#define TROIKA_CHANGE(name)                                        \
  BENCHMARK_CAPTURE(change_model, name##_from_data, #name, false)  \
      ->Iterations(1)                                              \
      ->Unit(benchmark::kMillisecond);                             \
  BENCHMARK_CAPTURE(change_model, name##_from_random, #name, true) \
      ->Iterations(1)                                              \
      ->Unit(benchmark::kMillisecond)

TROIKA_CHANGE(alexnet);
TROIKA_CHANGE(inception_v3);
TROIKA_CHANGE(resnet101);
TROIKA_CHANGE(nmt);
TROIKA_CHANGE(gpt2);

}  // namespace
}  // namespace troika
