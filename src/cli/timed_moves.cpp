#include "cli/timed_moves.h"

#include <time.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "lower/planner.h"
#include "sim/delta_simulation.h"
#include "strategy/ready.h"
#include "strategy/tiles.h"

namespace troika::cli {
namespace {

template <class Work>
double time_of(const Work& work) {
  double start = processor_ms();
  work();
  return processor_ms() - start;
}

/// Plans that treat all devices alike, so that most moves between them keep the classes.
std::vector<Strategy> even_plans(const LowerRequest& request) {
  auto devices = static_cast<std::int64_t>(request.machine->devices.size());
  std::vector<Strategy> plans{data_parallel(*request.graph, *request.machine)};
  for (std::int64_t tensor : {2, 4, 8})
    if (devices % tensor == 0)
      plans.push_back(mixed_parallel(*request.graph, {devices / tensor, tensor}));
  return plans;
}

/// Two planners walk the same way: the first asks for kernels that the table lacks, so that the
/// times of the second one are those of planning alone.
class Walk {
 public:
  explicit Walk(const TimedMoves& asked)
      : asked_(asked),
        plans_(even_plans(asked.request)),
        scout_(asked.request, asked.table),
        planner_(asked.request, asked.table) {
    while (auto refusal = scout_.plan()) add(*refusal);
    TROIKA_CHECK(!planner_.plan(), "the first plan lacks kernels");
    delta_.simulate(planner_.graph());
  }

  void move(std::uint64_t number) {
    std::vector<SplitChange> changes = draw(number);
    if (changes.empty() || !scout(changes)) return;
    bool is_undone = times_.delta.size() % 2 == 1;
    times_.change.push_back(
        time_of([&] { TROIKA_CHECK(!planner_.change(changes), "a move that was feasible"); }));
    simulate();
    times_.scratch.push_back(plan_from_scratch());
    if (is_undone) undo();
  }

  MoveTimes take() { return std::move(times_); }

 private:
  void add(const PlanRefusal& refusal) {
    if (auto* infeasible = std::get_if<Infeasible>(&refusal)) refuse(*infeasible);
    add_rows(std::get<MissingRows>(refusal), asked_.answer, asked_.table);
  }

  std::vector<SplitChange> draw(std::uint64_t number) const {
    RandomStream draws{.key = 1, .stream = number};
    const Graph& graph = *asked_.request.graph;
    const Strategy& other = plans_[draws.below(0, plans_.size())];
    std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
    std::uint64_t first = draws.below(3, graph.operators.size());
    std::uint64_t end = std::min<std::uint64_t>(first + count, graph.operators.size());
    std::vector<SplitChange> changes;
    for (std::uint64_t at = first; at < end; ++at) {
      const std::string& name = graph.operators[at].name;
      Split split = split_of(other, name);
      if (split != split_of(planner_.strategy(), name))
        changes.push_back({static_cast<std::int32_t>(at), std::move(split)});
    }
    return changes;
  }

  /// False, and the scout is where it was: the move is infeasible or leads to other classes.
  bool scout(const std::vector<SplitChange>& changes) {
    while (auto refusal = scout_.change(changes)) {
      if (std::holds_alternative<Infeasible>(*refusal)) return false;
      add(*refusal);
    }
    if (scout_.graph().classes == planner_.graph().classes) return true;
    scout_.undo();
    return false;
  }

  /// Which of the two simulations comes first changes, because the second one finds the graph in
  /// the caches.
  void simulate() {
    LoopPeriod period;
    auto run_delta = [&] {
      times_.delta.push_back(time_of([&] { delta_.simulate(planner_.graph()); }));
    };
    bool is_delta_first = times_.full.size() % 4 < 2;
    if (is_delta_first) run_delta();
    times_.full.push_back(time_of([&] { period = find_period(loop_body(planner_.graph())); }));
    if (!is_delta_first) run_delta();
    times_.agrees = times_.agrees && period == delta_.period();
  }

  double plan_from_scratch() const {
    LowerRequest request = asked_.request;
    request.strategy = &planner_.strategy();
    return time_of([&] {
      Planner fresh(request, asked_.table);
      TROIKA_CHECK(!fresh.plan(), "a plan lacks kernels that were there");
    });
  }

  void undo() {
    times_.undo.push_back(time_of([&] {
      planner_.undo();
      delta_.undo();
    }));
    scout_.undo();
    times_.agrees = times_.agrees && find_period(loop_body(planner_.graph())) == delta_.period();
  }

  const TimedMoves& asked_;
  std::vector<Strategy> plans_;
  Planner scout_, planner_;
  DeltaSimulation delta_;
  MoveTimes times_;
};

}  // namespace

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

MoveTimes time_moves(const TimedMoves& asked) {
  Walk walk(asked);
  double begin = processor_ms();
  for (std::uint64_t number = 0;
       number < asked.most_moves && (number < 4 || processor_ms() - begin < asked.seconds * 1e3);
       ++number)
    walk.move(number);
  return walk.take();
}

}  // namespace troika::cli
