#include "search/exhaustive.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "search/path_bound.h"
#include "search/plan_bounds.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

class BranchAndBound {
 public:
  explicit BranchAndBound(const ExhaustiveRequest& asked)
      : asked_(asked),
        index_(*asked.request.graph),
        costs_(index_, asked.request, asked.kernels),
        cycle_(index_),
        along_(asked.menus, costs_, links_of(asked.request)),
        plan_(asked.request, asked.kernels),
        devices_(asked.request.machine->devices.size()),
        times_(index_.graph.operators.size()) {
    made_.best = asked.first;
    made_.log10_size = asked.menus.log10_size();
    made_.size = asked.menus.size();
  }

  std::variant<Certificate, std::int64_t> run() {
    list_costs();
    order_operators();
    made_.least = bound();
    TROIKA_CHECK(asked_.request.optimizer != nullptr, "a step that trains");
    TROIKA_CHECK(!plan_.start(), "the first strategy is feasible");
    branch(0);
    if (gave_up_) return made_.simulated;
    return std::move(made_);
  }

 private:
  void list_costs() {
    std::size_t count = index_.graph.operators.size();
    place_.resize(count);
    load_.assign(devices_, {});
    for (std::size_t op = 0; op < count; ++op) {
      std::vector<const TileCost*>& all = cost_.emplace_back();
      for (const Split& split : asked_.menus.of(op)) all.push_back(&costs_.bound_of(op, split));
      least_.push_back(least_cost(asked_.menus, costs_, op));
      left_ += least_[op].work;
      times_.set(op, least_[op]);
    }
  }

  /// The chain comes first, so that its bound grows with each operator; then the most work first.
  void order_operators() {
    order_ = along_.path();
    for (std::size_t op = 0; op < index_.graph.operators.size(); ++op)
      if (std::ranges::count(along_.path(), op) == 0) order_.push_back(op);
    auto others = order_.begin() + std::ssize(along_.path());
    std::stable_sort(others, order_.end(), [&](std::size_t one, std::size_t other) {
      return least_[one].work > least_[other].work;
    });
  }

  SimTime bound() const {
    SimTime busiest = std::ranges::max(load_);
    SimTime placed = std::accumulate(load_.begin(), load_.end(), SimTime{});
    SimTime spread{(placed + left_).count / static_cast<std::int64_t>(devices_)};
    return std::max({busiest, spread, along_.least(chosen_), cycle_.heaviest(times_)});
  }

  void branch(std::size_t depth) {
    if (is_over()) return;
    if (depth == order_.size()) return simulate();
    std::size_t op = order_[depth];
    bool is_on_path = depth < along_.path().size();
    left_ = left_ - least_[op].work;
    for (place_[op] = 0; place_[op] < cost_[op].size(); ++place_[op]) {
      const TileCost& cost = *cost_[op][place_[op]];
      for (std::size_t device = 0; device < devices_; ++device)
        load_[device] += cost.of_device[device];
      times_.set(op, cost);
      if (is_on_path) chosen_.push_back(place_[op]);
      if (bound() < made_.best.period)
        branch(depth + 1);
      else
        ++made_.cut_off;
      if (is_on_path) chosen_.pop_back();
      for (std::size_t device = 0; device < devices_; ++device)
        load_[device] = load_[device] - cost.of_device[device];
    }
    times_.set(op, least_[op]);
    left_ += least_[op].work;
  }

  bool is_over() {
    gave_up_ = gave_up_ || made_.simulated >= asked_.most_simulated ||
               (asked_.stop_requested && asked_.stop_requested());
    return gave_up_;
  }

  void simulate() {
    ++made_.simulated;
    if (asked_.report) asked_.report(made_);
    std::vector<SplitChange> changes;
    for (std::size_t op = 0; op < place_.size(); ++op) {
      const Split& split = asked_.menus.of(op)[place_[op]];
      if (split != split_of(plan_.strategy(), index_.graph.operators[op].name))
        changes.push_back({static_cast<std::int32_t>(op), split});
    }
    if (!changes.empty()) {
      TriedChange tried = plan_.try_change(changes, made_.best.period - SimTime{1});
      if (tried != TriedChange::done) return;
    }
    if (plan_.period() < made_.best.period && !plan_.find_lack())
      made_.best = {plan_.strategy(), plan_.period()};
  }

  const ExhaustiveRequest& asked_;
  IndexedGraph index_;
  TileCosts costs_;
  LoopCycle cycle_;
  PathBound along_;
  SearchedPlan plan_;
  std::size_t devices_;
  std::vector<std::vector<const TileCost*>> cost_;  // by operator and place in its menu
  std::vector<TileCost> least_;                     // by operator
  std::vector<std::size_t> order_;
  std::vector<std::size_t> place_;   // of the operators that are decided, in their menus
  std::vector<std::size_t> chosen_;  // the same for those on the chain, in its order
  std::vector<SimTime> load_;        // by device
  SimTime left_{};                   // the least work of the others
  ChainTimes times_;
  Certificate made_;
  bool gave_up_ = false;
};

}  // namespace

std::variant<Certificate, std::int64_t> search_exhaustively(const ExhaustiveRequest& asked) {
  return BranchAndBound(asked).run();
}

}  // namespace troika
