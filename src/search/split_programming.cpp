#include "search/split_programming.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "search/elimination.h"
#include "search/neighbour_split.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

/// Of each menu. Tables of pairs of splits grow with the square.
constexpr std::size_t kMostSplits = 40;

class SplitProgram {
 public:
  SplitProgram(const SplitMenus& menus, TileCosts& costs, MoveEstimates& moves, double exposed_sums)
      : menus_(menus),
        costs_(costs),
        moves_(moves),
        exposed_sums_(exposed_sums),
        index_(costs.index()),
        request_(costs.request()) {}

  Strategy solve() {
    list_candidates();
    ChoiceProblem problem;
    for (std::size_t op = 0; op < splits_.size(); ++op) {
      std::vector<double> own;
      for (const Split& split : splits_[op]) own.push_back(cost_of(op, split));
      problem.cost.push_back(std::move(own));
    }
    for (const std::vector<Neighbours>& pairs : find_neighbours(index_))
      for (const Neighbours& pair : pairs)
        if (pair.from < pair.to) problem.pairs.push_back(costs_between(pair));
    ChosenOptions chosen = choose_options(problem);
    Strategy made = *request_.strategy;
    for (std::size_t op = 0; op < splits_.size(); ++op)
      made.splits[index_.graph.operators[op].name] = splits_[op][chosen.option[op]];
    return made;
  }

 private:
  /// On all devices and in one piece over time. Layers that are cut keep their splits.
  void list_candidates() {
    std::map<std::size_t, std::vector<Split>> of_menu;
    for (std::size_t op = 0; op < menus_.count(); ++op) {
      const Split& now = split_of(*request_.strategy, index_.graph.operators[op].name);
      if (now.chunks > 1) {
        splits_.push_back({now});
        is_cut_.insert(op);
        continue;
      }
      auto [known, is_new] = of_menu.try_emplace(menus_.menu_of(op));
      if (is_new) known->second = candidates_of(op);
      splits_.push_back(known->second);
    }
  }

  std::vector<Split> candidates_of(std::size_t op) {
    auto devices = std::ssize(request_.machine->devices);
    std::vector<Split> all;
    for (const Split& split : menus_.of(op)) {
      bool is_everywhere = tile_count(split) * replicas_of(split) == devices;
      if (split.chunks == 1 && (is_everywhere || devices <= 4)) all.push_back(split);
    }
    if (all.empty()) return {menus_.of(op).front()};
    std::vector<std::pair<double, std::size_t>> by_cost;
    for (std::size_t at = 0; at < all.size(); ++at) by_cost.emplace_back(cost_of(op, all[at]), at);
    std::ranges::sort(by_cost);
    if (by_cost.size() > kMostSplits) by_cost.resize(kMostSplits);
    std::vector<Split> cheapest;
    for (const auto& [cost, at] : by_cost) cheapest.push_back(all[at]);
    return cheapest;
  }

  double cost_of(std::size_t op, const Split& split) {
    if (is_cut_.contains(op)) return 0;  // it has no choice
    double time = static_cast<double>(costs_.of(op, split).busiest.count);
    if (request_.optimizer == nullptr) return time;
    const Signature& s = index_.signatures[op];
    for (int slot : s.slots_of(Role::weight)) {
      auto held = moves_.holding_of(op, slot, split, false);
      Bytes element = size_of(s.slots[as_index(slot)].spec.dtype);
      time += exposed_sums_ * moves_.sum_time(held, element);
    }
    return time;
  }

  PairCosts costs_between(const Neighbours& pair) {
    const std::vector<Split>& from = splits_[pair.from];
    const std::vector<Split>& to = splits_[pair.to];
    PairCosts made{pair.from, pair.to, std::vector<double>(from.size() * to.size())};
    if (is_cut_.contains(pair.from) || is_cut_.contains(pair.to)) return made;
    const Slot& slot = index_.signatures[pair.from].slots[as_index(pair.from_slot)];
    Bytes element = size_of(slot.spec.dtype);
    bool goes_back = request_.optimizer != nullptr && slot.spec.dtype != DType::i32;
    auto list = [&](std::size_t op, int of, const std::vector<Split>& splits, bool is_partial) {
      std::vector<MoveEstimates::HoldingId> ids;
      for (const Split& split : splits) ids.push_back(moves_.holding_of(op, of, split, is_partial));
      return ids;
    };
    auto written = list(pair.from, pair.from_slot, from, true);
    auto read = list(pair.to, pair.to_slot, to, false);
    auto gradient_written = list(pair.to, pair.to_slot, to, true);
    auto gradient_read = list(pair.from, pair.from_slot, from, false);
    for (std::size_t a = 0; a < from.size(); ++a) {
      for (std::size_t b = 0; b < to.size(); ++b) {
        double time = moves_.move_time(written[a], read[b], element);
        if (goes_back) time += moves_.move_time(gradient_written[b], gradient_read[a], element);
        made.cost[a * to.size() + b] = time;
      }
    }
    return made;
  }

  const SplitMenus& menus_;
  TileCosts& costs_;
  MoveEstimates& moves_;
  const double exposed_sums_;
  const IndexedGraph& index_;
  const LowerRequest& request_;
  std::vector<std::vector<Split>> splits_;  // by operator
  std::set<std::size_t> is_cut_;
};

}  // namespace

Strategy program_splits(const SplitMenus& menus, TileCosts& costs, MoveEstimates& moves,
                        double exposed_sums) {
  return SplitProgram(menus, costs, moves, exposed_sums).solve();
}

}  // namespace troika
