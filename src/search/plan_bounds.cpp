#include "search/plan_bounds.h"

#include <algorithm>
#include <functional>
#include <set>

#include "lower/fuse.h"
#include "search/neighbour_split.h"

namespace troika {

LoopCycle::LoopCycle(const IndexedGraph& index) : readers_(index.graph.operators.size()) {
  if (!index.graph.loss) return;
  loss_ = index.graph[index.graph.loss->loss_sum].producer.value;
  std::vector<std::vector<Neighbours>> neighbours = find_neighbours(index);
  for (const Operator& op : index.graph.operators)
    is_trained_.push_back(std::ranges::any_of(op.parameters, [&](ParameterId id) {
      return index.graph[id].trained && !index.graph[id].state;
    }));
  std::vector<bool> reaches(readers_.size());
  reaches[as_index(loss_)] = true;
  for (std::size_t op = as_index(loss_); op-- > 0;) {
    for (const Neighbours& pair : neighbours[op])
      if (pair.from > op && reaches[pair.from]) readers_[op].push_back(pair.from);
    reaches[op] = !readers_[op].empty();
  }
}

SimTime LoopCycle::heaviest(const ChainTimes& times) const {
  if (loss_ < 0) return {};
  std::vector<SimTime> to_loss(readers_.size()), from_loss(readers_.size());
  SimTime heaviest;
  for (std::size_t op = as_index(loss_ + 1); op-- > 0;) {
    if (readers_[op].empty() && static_cast<std::int64_t>(op) != loss_) continue;
    SimTime forward, backward;
    for (std::size_t reader : readers_[op]) {
      forward = std::max(forward, to_loss[reader]);
      backward = std::max(backward, from_loss[reader]);
    }
    // Some losses have a backward pass that does not wait for their own forward pass.
    bool is_loss = static_cast<std::int64_t>(op) == loss_;
    to_loss[op] = is_loss ? SimTime{} : forward + times.forward[op];
    from_loss[op] = backward + times.backward[op];
    // Which of its two backward phases comes first is open.
    SimTime own = std::max(times.backward[op], times.weight[op]);
    if (is_trained_[op]) heaviest = std::max(heaviest, to_loss[op] + backward + own);
  }
  return heaviest;
}

bool has_equal_devices(const Machine& machine) {
  auto slowdown_of = [](const DeviceSpec& device) { return device.slowdown; };
  return std::ranges::max(number_kinds(machine)) == 0 &&
         std::ranges::adjacent_find(machine.devices, std::ranges::not_equal_to{}, slowdown_of) ==
             machine.devices.end();
}

PlanBounds find_bounds(const SplitMenus& menus, TileCosts& costs) {
  const IndexedGraph& index = costs.index();
  ChainTimes least;
  SimTime work;
  for (std::size_t op = 0; op < menus.count(); ++op) {
    TileCost best;
    bool is_first = true;
    auto is_cut = [](const Split& split) { return split.chunks > 1; };
    bool counts =
        !can_follow(index.graph.operators[op].op) && std::ranges::none_of(menus.of(op), is_cut);
    std::set<std::string> seen;
    for (const Split& split : menus.of(op)) {
      if (!counts) break;
      // Where tiles are does not matter here.
      Split together{.factors = split.factors};
      for (Factor& factor : together.factors) factor.stride = 0;
      if (!seen.insert(to_text(together)).second) continue;
      const TileCost& cost = costs.of(op, together);
      if (is_first) best = cost;
      best.work = std::min(best.work, cost.work);
      best.forward = std::min(best.forward, cost.forward);
      best.backward = std::min(best.backward, cost.backward);
      best.weight = std::min(best.weight, cost.weight);
      is_first = false;
    }
    work += best.work;
    least.forward.push_back(best.forward);
    least.backward.push_back(best.backward);
    least.weight.push_back(best.weight);
  }
  auto devices = std::ssize(costs.request().machine->devices);
  PlanBounds bounds{.work = SimTime{work.count / devices}};
  if (costs.request().optimizer != nullptr) bounds.cycle = LoopCycle(index).heaviest(least);
  return bounds;
}

}  // namespace troika
