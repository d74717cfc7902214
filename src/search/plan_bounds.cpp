#include "search/plan_bounds.h"

#include <algorithm>
#include <functional>
#include <set>

#include "search/neighbour_split.h"
#include "search/path_bound.h"

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

TileCost least_cost(const SplitMenus& menus, TileCosts& costs, std::size_t op) {
  TileCost least;
  bool is_first = true;
  std::set<std::string> seen;
  for (const Split& split : menus.of(op)) {
    // Where tiles are does not matter here.
    Split together{.factors = split.factors, .chunks = split.chunks};
    for (Factor& factor : together.factors) factor.stride = 0;
    if (!seen.insert(to_text(together)).second) continue;
    const TileCost& cost = costs.bound_of(op, together);
    if (is_first) least = cost;
    least.work = std::min(least.work, cost.work);
    least.forward = std::min(least.forward, cost.forward);
    least.backward = std::min(least.backward, cost.backward);
    least.weight = std::min(least.weight, cost.weight);
    is_first = false;
  }
  return least;
}

PlanBounds find_bounds(const SplitMenus& menus, TileCosts& costs) {
  const LowerRequest& request = costs.request();
  ChainTimes times(menus.count());
  SimTime work;
  for (std::size_t op = 0; op < menus.count(); ++op) {
    TileCost least = least_cost(menus, costs, op);
    work += least.work;
    times.set(op, least);
  }
  auto devices = std::ssize(request.machine->devices);
  PlanBounds bounds{.work = SimTime{work.count / devices}};
  if (request.optimizer == nullptr) return bounds;
  bounds.cycle = LoopCycle(costs.index()).heaviest(times);
  bounds.cycle = std::max(bounds.cycle, PathBound(menus, costs, links_of(request)).least({}));
  return bounds;
}

}  // namespace troika
