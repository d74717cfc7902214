// What it takes to simulate a plan of 64 devices again after a random move, against simulating it
// from scratch, and with planning against planning from scratch: processor time, medians. Moves
// that keep the partition of the devices apart from those that change it, and those of early
// operators apart from those of late ones. Counters ending in _us are microseconds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "lower/testing/random_walk.h"
#include "machine/cluster.h"
#include "sim/delta_simulation.h"
#include "strategy/ready.h"
#include "strategy/testing/tensor_in_nodes.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

constexpr std::int64_t kDevices = 64, kInside = 8;

double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

template <class Work>
double time_of(const Work& work) {
  double begin = microseconds();
  work();
  return microseconds() - begin;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

enum class Start { data, tensor, uneven, random };

struct WalkCase {
  std::string model;
  Start start = Start::data;
  bool is_even = true;            ///< Moves to splits that treat all devices alike.
  std::int32_t most_classes = 8;  ///< Moves that lead to more are taken back.
  std::uint64_t moves = 60;
};

Lowered first_plan(const WalkCase& asked) {
  Lowered model;
  zoo::ModelRequest request{.name = asked.model};
  request.samples.batch = asked.start == Start::uneven ? kDevices + kDevices / 2 + 1 : kDevices;
  model.graph = zoo::build(request).train();
  model.machine = make_machine(
      {.nodes = {{.count = kDevices / kInside, .devices = kInside, .ranks = kInside}}});
  switch (asked.start) {
    case Start::data:
    case Start::uneven:
      model.strategy = data_parallel(model.graph, model.machine);
      break;
    case Start::tensor:
      model.strategy = tensor_in_nodes(model.graph, model.machine, kInside);
      break;
    case Start::random:
      model.strategy = random_view_strategy(model.graph, model.machine, 99);
      break;
  }
  model.strategy.micro_batches = 1;
  return model;
}

/// Times of one move.
struct Times {
  double change = 0, delta = 0, full = 0, scratch = 0, tasks = 0, share = 0;
  double undo = 0;
};

struct Figures {
  std::vector<double> change, delta, both, full, scratch, tasks, share, faster, faster_together;

  void add(const Times& times) {
    change.push_back(times.change);
    delta.push_back(times.delta);
    both.push_back(times.change + times.delta);
    full.push_back(times.full);
    scratch.push_back(times.scratch);
    tasks.push_back(times.tasks);
    share.push_back(times.share);
    faster.push_back(times.full / times.delta);
    faster_together.push_back((times.scratch + times.full) / (times.change + times.delta));
  }

  void report(benchmark::State& state, const std::string& what) const {
    if (delta.empty()) return;
    auto& counters = state.counters;
    counters[what + "_n"] = static_cast<double>(delta.size());
    counters[what + "_tasks"] = median(tasks);
    counters[what + "_change_us"] = median(change);
    counters[what + "_delta_us"] = median(delta);
    counters[what + "_full_us"] = median(full);
    counters[what + "_scratch_us"] = median(scratch);
    counters[what + "_x"] = median(faster);
    counters[what + "_with_change_us"] = median(both);
    counters[what + "_with_change_x"] = median(faster_together);
    counters[what + "_ran"] = median(share);
  }
};

class TimedWalk {
 public:
  explicit TimedWalk(const WalkCase& asked) : asked_(asked), walk_(first_plan(asked)) {
    if (asked.is_even) walk_.go_to(even_strategies());
    planner_.emplace(walk_.request(), walk_.table());
    if (planner_->plan()) throw Bug("rows are missing");
    delta_.simulate(planner_->graph());
  }

  /// Every second move is taken back, as those that a search does not accept.
  void move(std::uint64_t number) {
    std::vector<SplitChange> changes = walk_.draw(number);
    if (!walk_.change(changes)) return;
    bool is_kept = walk_.graph().classes == planner_->graph().classes;
    bool is_undone = number % 2 == 1 || walk_.graph().classes.count() > asked_.most_classes;
    if (is_undone) walk_.planner().undo();
    Times times = simulate(changes, number);
    (is_kept ? kept_ : changed_).add(times);
    if (is_kept) {
      std::size_t last = as_index(changes.front().op) * 2;
      (last < walk_.request().graph->operators.size() ? early_ : late_).add(times);
    }
    if (!is_undone) return;
    planner_->undo();
    undo_.push_back(time_of([&] { delta_.undo(); }));
  }

  void report(benchmark::State& state) const {
    kept_.report(state, "kept");
    changed_.report(state, "changed");
    early_.report(state, "early");
    late_.report(state, "late");
    state.counters["undo_us"] = median(undo_);
    state.counters["classes"] = planner_->graph().classes.count();
  }

 private:
  std::vector<Strategy> even_strategies() const {
    const LowerRequest& request = walk_.request();
    std::vector<Strategy> all{data_parallel(*request.graph, *request.machine)};
    for (std::int64_t inside : {2, 4, 8})
      all.push_back(tensor_in_nodes(*request.graph, *request.machine, inside));
    return all;
  }

  Times simulate(const std::vector<SplitChange>& changes, std::uint64_t number) {
    Times times;
    times.change = time_of([&] { benchmark::DoNotOptimize(planner_->change(changes)); });
    LoopPeriod period;
    auto run_delta = [&] { times.delta = time_of([&] { delta_.simulate(planner_->graph()); }); };
    // The one that comes second finds the graph in the caches.
    if (number % 4 < 2) run_delta();
    times.full = time_of([&] { period = find_period(loop_body(planner_->graph())); });
    if (number % 4 >= 2) run_delta();
    if (period != delta_.period()) throw Bug("another period");
    LowerRequest request = walk_.request();
    request.strategy = &planner_->strategy();
    times.scratch = time_of([&] {
      Planner fresh(request, walk_.table());
      benchmark::DoNotOptimize(fresh.plan());
    });
    for (const std::vector<FoldedTask>& tasks : planner_->graph().tasks)
      times.tasks += static_cast<double>(tasks.size());
    times.share = static_cast<double>(delta_.tasks_run()) /
                  (times.tasks * static_cast<double>(period.passes));
    return times;
  }

  WalkCase asked_;
  RandomWalk walk_;
  std::optional<Planner> planner_;
  DeltaSimulation delta_;
  Figures kept_, changed_, early_, late_;
  std::vector<double> undo_;
};

void walk_model(benchmark::State& state, const WalkCase& asked) {
  TimedWalk walk(asked);
  for (auto iteration : state)
    for (std::uint64_t number = 0; number < asked.moves; ++number) walk.move(number);
  walk.report(state);
}

void register_all() {
  for (const char* model : {"inception_v3", "nmt"}) {
    auto add = [&](const char* what, const WalkCase& asked) {
      benchmark::RegisterBenchmark((std::string(model) + "/" + what).c_str(),
                                   [=](benchmark::State& state) { walk_model(state, asked); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    };
    add("data", {.model = model});
    add("tensor", {.model = model, .start = Start::tensor});
    add("uneven", {.model = model, .start = Start::uneven});
    add("any_move", {.model = model, .is_even = false, .moves = 60});
    add("64_classes", {.model = model,
                       .start = Start::random,
                       .is_even = false,
                       .most_classes = kDevices,
                       .moves = 60});
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace troika
