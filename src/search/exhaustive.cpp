#include "search/exhaustive.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "lower/fuse.h"
#include "search/plan_bounds.h"

namespace troika {
namespace {

class BranchAndBound {
 public:
  explicit BranchAndBound(const ExhaustiveRequest& asked)
      : asked_(asked),
        index_(*asked.request.graph),
        costs_(index_, asked.request, asked.kernels),
        cycle_(index_),
        plan_(asked.request, asked.kernels),
        devices_(asked.request.machine->devices.size()) {
    none_.of_device.resize(devices_);
    made_.best = asked.first;
    made_.log10_size = asked.menus.log10_size();
    made_.size = asked.menus.size();
  }

  std::variant<Certificate, std::int64_t> run() {
    find_least();
    TROIKA_CHECK(!plan_.start(), "the first strategy is feasible");
    splits_.resize(index_.graph.operators.size());
    load_.assign(devices_, {});
    branch(0);
    if (gave_up_) return made_.simulated;
    return std::move(made_);
  }

 private:
  /// The least cost of each operator over its menu, and the order in which operators are decided:
  /// the most work first, so that bounds grow early.
  void find_least() {
    std::size_t count = index_.graph.operators.size();
    cost_.resize(count);
    for (std::size_t op = 0; op < count; ++op) {
      bool counts = !asked_.kernels.may_fuse() || !can_follow(index_.graph.operators[op].op);
      for (const Split& split : asked_.menus.of(op))
        cost_[op].push_back(counts && split.chunks == 1 ? &costs_.of(op, split) : &none_);
      TileCost& least = least_.emplace_back(*cost_[op].front());
      for (const TileCost* cost : cost_[op]) {
        least.work = std::min(least.work, cost->work);
        least.forward = std::min(least.forward, cost->forward);
        least.backward = std::min(least.backward, cost->backward);
        least.weight = std::min(least.weight, cost->weight);
      }
      left_ += least_[op].work;
      times_.forward.push_back(least_[op].forward);
      times_.backward.push_back(least_[op].backward);
      times_.weight.push_back(least_[op].weight);
    }
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::greater{},
                             [&](std::size_t op) { return least_[op].work; });
  }

  SimTime bound() const {
    SimTime busiest = std::ranges::max(load_);
    SimTime placed = std::accumulate(load_.begin(), load_.end(), SimTime{});
    SimTime spread{(placed + left_).count / static_cast<std::int64_t>(devices_)};
    return std::max({busiest, spread, cycle_.heaviest(times_)});
  }

  void branch(std::size_t depth) {
    if (gave_up_) return;
    if (depth == order_.size()) return simulate();
    std::size_t op = order_[depth];
    left_ = left_ - least_[op].work;
    for (std::size_t at = 0; at < cost_[op].size(); ++at) {
      const TileCost& cost = *cost_[op][at];
      splits_[op] = &asked_.menus.of(op)[at];
      for (std::size_t device = 0; device < devices_; ++device)
        load_[device] += cost.of_device[device];
      set_times(op, cost);
      if (bound() < made_.best.period)
        branch(depth + 1);
      else
        ++made_.cut_off;
      for (std::size_t device = 0; device < devices_; ++device)
        load_[device] = load_[device] - cost.of_device[device];
    }
    set_times(op, least_[op]);
    left_ += least_[op].work;
  }

  void set_times(std::size_t op, const TileCost& cost) {
    times_.forward[op] = cost.forward;
    times_.backward[op] = cost.backward;
    times_.weight[op] = cost.weight;
  }

  void simulate() {
    if (made_.simulated++ >= asked_.most_simulated) {
      gave_up_ = true;
      return;
    }
    Strategy tried = plan_.strategy();
    for (std::size_t op = 0; op < splits_.size(); ++op)
      tried.splits[index_.graph.operators[op].name] = *splits_[op];
    std::optional<SimTime> period = plan_.change_to(tried);
    if (!period) {
      ++made_.infeasible;
      return;
    }
    if (*period < made_.best.period && !plan_.find_lack()) made_.best = {std::move(tried), *period};
  }

  const ExhaustiveRequest& asked_;
  IndexedGraph index_;
  TileCosts costs_;
  LoopCycle cycle_;
  SearchedPlan plan_;
  std::size_t devices_;
  std::vector<std::vector<const TileCost*>> cost_;  // by operator and place in its menu
  std::vector<TileCost> least_;                     // by operator
  TileCost none_;                                   // of what the bound does not count
  std::vector<std::size_t> order_;
  std::vector<const Split*> splits_;  // of the operators that are placed
  std::vector<SimTime> load_;         // by device
  SimTime left_{};                    // the least work of the others
  ChainTimes times_;
  Certificate made_;
  bool gave_up_ = false;
};

}  // namespace

std::variant<Certificate, std::int64_t> search_exhaustively(const ExhaustiveRequest& asked) {
  return BranchAndBound(asked).run();
}

}  // namespace troika
