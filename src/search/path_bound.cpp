#include "search/path_bound.h"

#include <algorithm>
#include <limits>

#include "search/plan_bounds.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

/// Splits of a menu, because times are kept for all pairs of two menus.
constexpr std::size_t kMostPathSplits = 200;
constexpr SimTime kLong{std::numeric_limits<std::int64_t>::max() / 4};

SimTime least_of(const std::vector<SimTime>& times) {
  return times.empty() ? SimTime{} : std::ranges::min(times);
}

}  // namespace

PathBound::PathBound(const SplitMenus& menus, TileCosts& costs, const LinkCosts& links)
    : menus_(menus),
      costs_(costs),
      index_(costs.index()),
      moves_(costs.index(), *costs.request().machine, links),
      counts_messages_(costs.request().strategy->micro_batches == 1) {
  find_path();
  for (std::size_t op : path_) add_step(op);
  for (std::size_t at = 0; at + 1 < path_.size(); ++at)
    steps_[at].to_next = times_between(pairs_[at]);
  solve();
}

/// Follows the readers of each operator that are on a way to the loss.
void PathBound::find_path() {
  LoopCycle loop(index_);
  if (costs_.request().optimizer == nullptr || !loop.loss()) return;
  for (std::size_t op = 0; op < menus_.count(); ++op)
    if (menus_.of(op).size() > kMostPathSplits) return;
  std::vector<SimTime> heaviest(index_.graph.operators.size());  // from there to the loss
  std::vector<std::size_t> next(heaviest.size());
  std::size_t first = *loop.loss();
  SimTime most{-1};
  for (std::size_t op = *loop.loss() + 1; op-- > 0;) {
    if (op != *loop.loss() && loop.readers(op).empty()) continue;
    SimTime least = kLong;
    for (const Split& split : menus_.of(op)) {
      const TileCost& cost = costs_.bound_of(op, split);
      least = std::min(least, cost.forward + cost.backward);
    }
    for (std::size_t reader : loop.readers(op))
      if (heaviest[reader] >= heaviest[op]) heaviest[op] = heaviest[reader], next[op] = reader;
    heaviest[op] += least;
    if (loop.is_trained(op) && heaviest[op] > most) most = heaviest[op], first = op;
  }
  if (most < SimTime{}) return;
  for (std::size_t op = first; op != *loop.loss(); op = next[op]) path_.push_back(op);
  path_.push_back(*loop.loss());
  std::vector<std::vector<Neighbours>> neighbours = find_neighbours(index_);
  for (std::size_t at = 0; at + 1 < path_.size(); ++at)
    pairs_.push_back(*std::ranges::find_if(
        neighbours[path_[at]], [&](const Neighbours& pair) { return pair.from == path_[at + 1]; }));
}

void PathBound::add_step(std::size_t op) {
  Step step;
  bool is_loss = op == path_.back();
  for (const Split& split : menus_.of(op)) {
    const TileCost& cost = costs_.bound_of(op, split);
    // Some losses have a backward pass that does not wait for their own forward pass.
    step.forward.push_back(is_loss ? SimTime{} : cost.forward);
    step.backward.push_back(cost.backward);
    step.weight.push_back(cost.weight);
    step.sum.push_back(sum_time(op, split));
  }
  steps_.push_back(std::move(step));
}

SimTime PathBound::sum_time(std::size_t op, const Split& split) {
  SimTime longest;
  if (!counts_messages_ || split.chunks > 1) return longest;
  const Operator& own = index_.graph.operators[op];
  const Signature& s = index_.signatures[op];
  std::vector<int> slots = s.slots_of(Role::weight);
  for (std::size_t at = 0; at < slots.size() && at < own.parameters.size(); ++at) {
    const Parameter& parameter = index_.graph[own.parameters[at]];
    if (!parameter.trained || parameter.state) continue;
    TileHolding terms = moves_.holding_of(op, slots[at], split, true);
    TileHolding whole = moves_.holding_of(op, slots[at], split, false);
    Bytes element = size_of(s.slots[as_index(slots[at])].spec.dtype);
    longest = std::max(longest, moves_.move_time(terms, whole, element));
  }
  return longest;
}

/// Moving the output forward and its gradient backward. Layers that are cut over time do not count.
std::vector<SimTime> PathBound::times_between(const Neighbours& pair) {
  const std::vector<Split>&own = menus_.of(pair.to), &next = menus_.of(pair.from);
  std::vector<SimTime> times(own.size() * next.size());
  if (!counts_messages_) return times;
  Bytes element = size_of(index_.signatures[pair.to].slots[as_index(pair.to_slot)].spec.dtype);
  auto list = [&](std::size_t op, int slot, const std::vector<Split>& splits, bool is_partial) {
    std::vector<TileHolding> made;
    for (const Split& split : splits)
      made.push_back(split.chunks > 1 ? TileHolding{}
                                      : moves_.holding_of(op, slot, split, is_partial));
    return made;
  };
  auto written = list(pair.to, pair.to_slot, own, true);
  auto kept = list(pair.to, pair.to_slot, own, false);
  auto read = list(pair.from, pair.from_slot, next, false);
  auto returned = list(pair.from, pair.from_slot, next, true);
  for (std::size_t a = 0; a < own.size(); ++a)
    for (std::size_t b = 0; b < next.size(); ++b)
      if (own[a].chunks == 1 && next[b].chunks == 1)
        times[a * next.size() + b] = moves_.move_time(written[a], read[b], element) +
                                     moves_.move_time(returned[b], kept[a], element);
  return times;
}

SimTime PathBound::between(std::size_t at, std::size_t own, std::size_t next) const {
  return steps_[at].to_next[own * steps_[at + 1].forward.size() + next];
}

/// Where a cycle ends. The sum waits for the gradient of the weights only, and which of the two
/// backward phases comes first is open; the next step waits for both.
SimTime PathBound::end_at(std::size_t at, std::size_t place) const {
  const Step& step = steps_[at];
  return std::max(step.backward[place], step.weight[place] + step.sum[place]);
}

void PathBound::solve() {
  least_from_.resize(steps_.size() + 1);
  for (std::size_t at = steps_.size(); at-- > 0;) {
    Step& step = steps_[at];
    step.rest.assign(step.forward.size(), at + 1 == steps_.size() ? SimTime{} : kLong);
    for (std::size_t own = 0; own < step.rest.size() && at + 1 < steps_.size(); ++own) {
      const Step& after = steps_[at + 1];
      for (std::size_t next = 0; next < after.forward.size(); ++next)
        step.rest[own] = std::min(step.rest[own], between(at, own, next) + after.forward[next] +
                                                      after.backward[next] + after.rest[next]);
    }
    std::vector<SimTime> cycles;
    for (std::size_t own = 0; own < step.rest.size(); ++own)
      cycles.push_back(step.forward[own] + step.rest[own] + end_at(at, own));
    least_from_[at] = std::max(least_from_[at + 1], least_of(cycles));
  }
}

SimTime PathBound::least(std::span<const std::size_t> chosen) const {
  if (steps_.empty()) return {};
  SimTime most = least_from_[chosen.size()];
  SimTime rest;
  for (std::size_t at = chosen.size(); at-- > 0;) {
    const Step& step = steps_[at];
    if (at + 1 == chosen.size())
      rest = step.rest[chosen[at]];
    else
      rest += between(at, chosen[at], chosen[at + 1]);
    // That of an operator without weights is no cycle, but the one before it has a longer one.
    most = std::max(most, step.forward[chosen[at]] + rest + end_at(at, chosen[at]));
    rest += step.forward[chosen[at]] + step.backward[chosen[at]];
  }
  return most;
}

}  // namespace troika
