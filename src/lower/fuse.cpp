#include "lower/fuse.h"

#include <algorithm>
#include <optional>
#include <span>

namespace troika {
namespace {

constexpr std::size_t kLongest = 4;

template <class... Kinds>
bool is_one_of(const Op& op) {
  return (std::holds_alternative<Kinds>(op) || ...);
}

bool can_lead(const Unit& unit) {
  return unit.output >= 0 && !is_one_of<Sum, Reorder, Assemble>(unit.key.op);
}

class ChainFinder {
 public:
  explicit ChainFinder(const UnitGraph& graph)
      : graph_(graph), first_(graph.buffers.size() + 1), viewed_(graph.buffers.size()) {
    for (const Unit& unit : graph.units)
      for (const UnitUse& use : unit.uses) ++first_[as_index(use.buffer) + 1];
    for (std::size_t at = 1; at < first_.size(); ++at) first_[at] += first_[at - 1];
    users_.resize(first_.back());
    std::vector<std::size_t> next = first_;
    for (std::size_t at = 0; at < graph.units.size(); ++at)
      for (const UnitUse& use : graph.units[at].uses) users_[next[as_index(use.buffer)]++] = at;
    for (const UnitBuffer& buffer : graph.buffers)
      if (buffer.view_of >= 0) viewed_[as_index(buffer.view_of)] = true;
  }

  std::vector<FusedChain> find() const {
    std::vector<FusedChain> chains;
    for (std::size_t start = 0; start < graph_.units.size(); ++start) {
      const Unit& unit = graph_.units[start];
      if (unit.key.phase == Phase::forward && can_lead(unit)) find_forward(start, chains);
      if (auto chain = activation_before(start)) chains.push_back(std::move(*chain));
    }
    return chains;
  }

 private:
  void find_forward(std::size_t start, std::vector<FusedChain>& chains) const {
    const Unit& unit = graph_.units[start];
    // Most units end here, before anything is copied.
    if (!follower(unit.uses[as_index(unit.output)].buffer)) return;
    FusedChain chain{{start}, unit.key, unit.uses};
    // The output stands last, also where the operator writes other things behind it.
    std::ranges::rotate(chain.uses.begin() + unit.output, chain.uses.begin() + unit.output + 1,
                        chain.uses.end());
    std::size_t before = chains.size();
    while (chain.units.size() < kLongest && extend(chain)) chains.push_back(chain);
    std::reverse(chains.begin() + static_cast<std::ptrdiff_t>(before), chains.end());
  }

  /// The unit that alone reads a value and could be fused behind what writes it.
  std::optional<std::size_t> follower(std::int32_t value) const {
    std::optional<std::size_t> reader = only_reader(value);
    if (!reader) return {};
    const KernelKey& key = graph_.units[*reader].key;
    return key.phase == Phase::forward && can_follow(key.op) ? reader : std::nullopt;
  }

  /// Adds the unit that alone reads the chain's last value; false when there is none. What it reads
  /// besides must exist by then, so the fused unit will stand where this one stood.
  bool extend(FusedChain& chain) const {
    std::int32_t value = chain.uses.back().buffer;
    std::optional<std::size_t> reader = follower(value);
    if (!reader) return false;
    const Unit& next = graph_.units[*reader];
    if (next.device != graph_.units[chain.units[0]].device) return false;
    if (!can_move(chain.units, chain.uses, *reader)) return false;
    // Of two equal operands the order does not matter: both functions commute.
    std::size_t taken = next.uses[0].buffer == value ? 0 : 1;
    const TensorSpec& spec = spec_of(value);
    if (spec_of(next.uses.back().buffer) != spec || next.key.inputs[taken] != spec) return false;
    FusedOp behind{next.key.op, next.key.inputs};
    behind.others.erase(behind.others.begin() + static_cast<std::ptrdiff_t>(taken));
    chain.uses.pop_back();
    for (std::size_t at = 0; at < next.uses.size(); ++at)
      if (at != taken) chain.uses.push_back(next.uses[at]);
    chain.units.push_back(*reader);
    chain.key.fused.push_back(std::move(behind));
    return true;
  }

  /// A backward unit whose dy is the gradient of an activation that nobody else reads.
  std::optional<FusedChain> activation_before(std::size_t at) const {
    const Unit& unit = graph_.units[at];
    if (!is_one_of<BatchNorm>(unit.key.op) || unit.key.phase != Phase::backward) return {};
    auto dy = as_index(unit.gradient);
    std::int32_t value = unit.uses[dy].buffer;
    if (only_reader(value) != at) return {};
    std::size_t before = users_[first_[as_index(value)]];
    const Unit& first = graph_.units[before];
    const Activation* activation = std::get_if<Activation>(&first.key.op);
    if (activation == nullptr || !backward_reads_output(activation->kind)) return {};
    if (first.device != unit.device || !can_move(std::span(&before, 1), first.uses, at)) return {};
    FusedChain chain{{before, at}, unit.key, unit.uses};
    chain.key.fused.push_back({*activation, {}});
    chain.uses[dy] = first.uses[0];
    auto written = std::ranges::find_if(
        chain.uses, [](const UnitUse& use) { return use.access != Access::read; });
    chain.uses.insert(written, first.uses[1]);
    return chain;
  }

  /// Whether units with these uses may run at the place of unit `to`: none in between reads what
  /// they write or writes what they read.
  bool can_move(std::span<const std::size_t> units, const std::vector<UnitUse>& uses,
                std::size_t to) const {
    auto is_in_the_way = [&](const UnitUse& use, std::size_t unit) {
      bool between = unit > units[0] && unit < to && std::ranges::find(units, unit) == units.end();
      return between && (use.access != Access::read || writes(graph_.units[unit], use.buffer));
    };
    return std::ranges::none_of(uses, [&](const UnitUse& use) {
      return std::ranges::any_of(users(use.buffer),
                                 [&](std::size_t unit) { return is_in_the_way(use, unit); });
    });
  }

  static bool writes(const Unit& unit, std::int32_t buffer) {
    return std::ranges::any_of(unit.uses, [&](const UnitUse& use) {
      return use.buffer == buffer && use.access != Access::read;
    });
  }

  /// By the second of two units that touch the value, of which the first one writes it.
  std::optional<std::size_t> only_reader(std::int32_t value) const {
    // A view is a use that outlasts the value itself.
    bool stays = graph_.buffers[as_index(value)].stays || viewed_[as_index(value)];
    if (stays || users(value).size() != 2) return {};
    return users(value)[1];
  }

  const TensorSpec& spec_of(std::int32_t buffer) const {
    return graph_.buffers[as_index(buffer)].spec;
  }

  /// The units that touch a buffer.
  std::span<const std::size_t> users(std::int32_t buffer) const {
    std::size_t begin = first_[as_index(buffer)];
    return {users_.data() + begin, first_[as_index(buffer) + 1] - begin};
  }

  const UnitGraph& graph_;
  std::vector<std::size_t> first_, users_;  // by buffer
  std::vector<bool> viewed_;                // by another buffer
};

/// Of the fastest candidate; zero where nothing was measured.
SimTime best_time(const std::vector<Candidate>& row) {
  auto time = [](const Candidate& candidate) { return candidate.time.value_or(SimTime{0}); };
  return row.empty() ? SimTime{0} : time(*std::ranges::min_element(row, {}, time));
}

/// Whether some kernel leaves fixed values as they must lie.
bool can_write_fixed(const UnitGraph& graph, const FusedChain& chain) {
  return std::ranges::any_of(*chain.row, [&](const Candidate& candidate) {
    for (std::size_t at = 0; at < chain.uses.size(); ++at) {
      const UnitBuffer& buffer = graph.buffers[as_index(chain.uses[at].buffer)];
      if (chain.uses[at].access == Access::read || !buffer.fixed || candidate.flat) continue;
      if (candidate.layouts[at] != *buffer.fixed) return false;
    }
    return true;
  });
}

/// What the fused kernel saves; empty when there is none or it would lose.
std::optional<SimTime> saved_by(const FusedChain& chain, const UnitGraph& graph) {
  if (chain.row == nullptr || chain.row->empty() || !can_write_fixed(graph, chain)) return {};
  SimTime apart{0}, fused = best_time(*chain.row);
  for (std::size_t at : chain.units) apart += best_time(*graph.units[at].row);
  return apart >= fused ? std::optional(apart - fused) : std::nullopt;
}

}  // namespace

bool can_follow(const Op& op) { return is_one_of<Bias, Activation, Binary, Dropout>(op); }

std::vector<FusedChain> find_chains(const UnitGraph& graph) { return ChainFinder(graph).find(); }

bool find_chain_rows(std::vector<FusedChain>& chains, const UnitGraph& graph,
                     const Machine& machine, const KernelTable& table) {
  bool all = true;
  for (FusedChain& chain : chains) {
    chain.row = table.find(machine[graph.units[chain.units[0]].device].kind, chain.key);
    all = all && chain.row != nullptr;
  }
  return all;
}

std::vector<Unit> fuse(UnitGraph& graph, const std::vector<FusedChain>& chains) {
  std::vector<bool> gone(graph.units.size()), taken(graph.units.size());
  for (std::size_t at = 0; at < chains.size();) {
    const FusedChain* best = nullptr;
    SimTime most{0};
    std::size_t start = chains[at].units.front();
    for (; at < chains.size() && chains[at].units.front() == start; ++at) {
      bool free = std::ranges::none_of(chains[at].units, [&](std::size_t u) { return taken[u]; });
      std::optional<SimTime> saved = free ? saved_by(chains[at], graph) : std::nullopt;
      if (saved && (best == nullptr || *saved > most)) best = &chains[at], most = *saved;
    }
    if (best == nullptr) continue;
    for (std::size_t u : best->units) taken[u] = true, gone[u] = u != best->units.back();
    Unit& last = graph.units[best->units.back()];
    last.key = best->key;
    last.uses = best->uses;
    last.row = best->row;
  }
  std::vector<Unit> left, away;
  for (std::size_t at = 0; at < graph.units.size(); ++at)
    (gone[at] ? away : left).push_back(std::move(graph.units[at]));
  graph.units = std::move(left);
  return away;
}

}  // namespace troika
