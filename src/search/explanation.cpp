#include "search/explanation.h"

#include <algorithm>

#include "base/error.h"
#include "strategy/ready.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

constexpr std::size_t kAlternatives = 2;
/// Splits over all devices that are tried for each operator: menus begin with simple ones.
constexpr std::size_t kMostTried = 12;

class Explainer {
 public:
  Explainer(const LowerRequest& request, const ScoringKernels& kernels, const SplitMenus& menus)
      : request_(request),
        kernels_(kernels),
        menus_(menus),
        graph_(*request.graph),
        data_(data_parallel(graph_, *request.machine)),
        plan_(request, kernels) {}

  Explanation run() {
    TROIKA_CHECK(!plan_.start(), "the plan is feasible");
    made_.period = plan_.period();
    for (std::size_t op = 0; op < graph_.operators.size(); ++op)
      if (menus_.of(op).size() > 1) made_.operators.push_back(explain(op));
    add_gains();
    return std::move(made_);
  }

 private:
  /// The difference that another split of one operator makes; nothing if it is infeasible.
  std::optional<SplitAlternative> try_split(std::size_t op, const Split& split) {
    SplitChange change{static_cast<std::int32_t>(op), split};
    std::optional<SimTime> period = plan_.change({&change, 1});
    if (!period) return std::nullopt;
    ++made_.simulated;
    SplitAlternative made{split, *period - made_.period, !plan_.find_lack()};
    plan_.undo();
    return made;
  }

  ExplainedOperator explain(std::size_t op) {
    const std::string& name = graph_.operators[op].name;
    ExplainedOperator made{.name = name, .split = normalised(split_of(plan_.strategy(), name))};
    Split data = normalised(split_of(data_, name));
    std::span<const Split> menu = menus_.of(op);
    std::vector<SplitAlternative> tried;
    auto devices = std::ssize(request_.machine->devices);
    std::size_t count = 0;
    for (const Split& split : menu) {
      bool is_everywhere = tile_count(split) * replicas_of(split) == devices;
      if (split == made.split || split.chunks != made.split.chunks) continue;
      if (!is_everywhere && split != Split{}) continue;
      if (++count > kMostTried) break;
      if (auto alternative = try_split(op, split)) tried.push_back(std::move(*alternative));
    }
    std::ranges::stable_sort(tried, {}, [](const SplitAlternative& alternative) {
      return std::pair(!alternative.fits, alternative.difference);
    });
    if (tried.size() > kAlternatives) tried.resize(kAlternatives);
    made.alternatives = std::move(tried);
    if (data != made.split)
      if (auto alternative = try_split(op, data))
        made.as_data_parallel = made_.period + alternative->difference;
    return made;
  }

  /// From data parallelism to the plan, one operator after the other, so that parts add up. A step
  /// that is infeasible by itself is taken together with the next one.
  void add_gains() {
    LowerRequest own = request_;
    Strategy first = *request_.strategy;
    first.splits = data_.splits;
    own.strategy = &first;
    SearchedPlan walk(own, kernels_);
    if (walk.start()) return;
    made_.data_parallel = walk.period();
    SimTime before = walk.period();
    std::vector<SplitChange> pending;
    for (const SplitChange& change : difference(graph_, first, *request_.strategy)) {
      pending.push_back(change);
      std::optional<SimTime> period = walk.change(pending);
      if (!period) continue;
      ++made_.simulated;
      made_.gains.push_back({graph_.operators[as_index(change.op)].name, before - *period});
      before = *period;
      pending.clear();
    }
    // A plan may also split input projections of layers, which this does not follow.
    if (before != made_.period) {
      made_.gains.clear();
      made_.data_parallel.reset();
    }
  }

  const LowerRequest& request_;
  const ScoringKernels& kernels_;
  const SplitMenus& menus_;
  const Graph& graph_;
  const Strategy data_;
  SearchedPlan plan_;
  Explanation made_;
};

}  // namespace

const ExplainedOperator* Explanation::find(const std::string& op) const {
  auto found = std::ranges::find(operators, op, &ExplainedOperator::name);
  return found == operators.end() ? nullptr : &*found;
}

Explanation explain_plan(const LowerRequest& request, const ScoringKernels& kernels,
                         const SplitMenus& menus) {
  return Explainer(request, kernels, menus).run();
}

}  // namespace troika
