#include "strategy/testing/random_strategy.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"
#include "strategy/split_check.h"

namespace troika {
namespace {

constexpr int kAttempts = 8;
constexpr std::int64_t kMostDrawnTiles = 12;

/// Numbers of one stream, one after the other.
class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view name)
      : stream_{.key = seed, .stream = hash_text(name)} {}

  /// In [0, bound).
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(stream_.below(next_++, static_cast<std::uint64_t>(bound)));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// Appends a cut along a random axis, unless it has too few indices left.
void draw_cut(std::vector<Factor>& factors, const Signature& s, const SplitTerms& terms,
              Draw& draw) {
  const Axis& axis = s.axes[static_cast<std::size_t>(draw.below(std::ssize(s.axes)))];
  std::int64_t most =
      std::min(cut_extent(axis, terms.micro_batches) / degree_along(factors, axis.name),
               kMostDrawnTiles / tile_count({factors}));
  if (most < 2) return;
  Factor factor{axis.name, 2 + draw.below(std::min<std::int64_t>(most, 5) - 1)};
  if (draw.one_in(4))
    for (std::int64_t part = 0; part < factor.degree; ++part)
      factor.weights.push_back(static_cast<double>(1 + draw.below(3)));
  factors.push_back(std::move(factor));
}

/// At most one factor of an axis, and any device for each tile.
Split draw_listed(const Signature& s, const SplitTerms& terms, Draw& draw) {
  Split split;
  std::int64_t cuts = s.axes.empty() || draw.one_in(5) ? 0 : 1 + draw.below(3);
  for (std::int64_t at = 0; at < cuts; ++at) {
    std::vector<Factor> more = split.factors;
    draw_cut(more, s, terms, draw);
    if (more.size() > split.factors.size() && degree_along(split, more.back().axis) == 1)
      split.factors = std::move(more);
  }
  std::int64_t replicas =
      draw.one_in(4) ? 1 + draw.below(std::min<std::int64_t>(terms.devices, 3)) : 1;
  std::int64_t tiles = tile_count(split);
  if (replicas > 1) split.factors.push_back({.axis = "", .degree = replicas});
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    std::int64_t first = draw.below(terms.devices);
    for (std::int64_t replica = 0; replica < replicas; ++replica)
      split.devices.push_back(
          DeviceId(static_cast<std::size_t>((first + replica) % terms.devices)));
  }
  return split;
}

Split draw_view(const Signature& s, const SplitTerms& terms, Draw& draw) {
  Split split;
  std::int64_t free = terms.devices - 1;  // Device numbers that are left for strides.
  for (std::int64_t at = draw.below(4); at > 0; --at) {
    std::size_t before = split.factors.size();
    if (draw.one_in(5))
      split.factors.push_back({.axis = "", .degree = 2 + draw.below(2)});
    else if (!s.axes.empty())
      draw_cut(split.factors, s, terms, draw);
    if (split.factors.size() == before) continue;
    Factor& factor = split.factors.back();
    factor.stride = draw.one_in(4) ? 0 : draw.below(free / (factor.degree - 1) + 1);
    free -= factor.stride * (factor.degree - 1);
  }
  split.first = draw.below(free + 1);
  return split;
}

using DrawSplit = Split (*)(const Signature&, const SplitTerms&, Draw&);

Split draw_feasible(const SplitSubject& subject, const SplitTerms& terms, DrawSplit draw_split,
                    Draw& draw) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Split split = draw_split(*subject.signature, terms, draw);
    if (!why_split_infeasible(subject, split, terms)) return split;
  }
  return {.first = draw.below(terms.devices)};
}

Strategy draw_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed,
                       DrawSplit draw_split) {
  Draw draw(seed, "strategy");
  Strategy strategy;
  constexpr std::array<std::int64_t, 3> kBuckets{1, 1 << 10, 4 << 20};
  strategy.sync = {.sliced_update = draw.one_in(2),
                   .bucket = {kBuckets[static_cast<std::size_t>(draw.below(3))]},
                   .overlap = draw.one_in(2),
                   .priorities = draw.one_in(2)};
  if (draw.one_in(3)) {
    Strategy whole{.micro_batches = 2 + draw.below(3)};
    if (!why_infeasible(whole, graph, machine)) strategy.micro_batches = whole.micro_batches;
  }
  SplitTerms terms{static_cast<std::int64_t>(machine.devices.size()), strategy.micro_batches};
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    Draw own(seed, op.name);
    strategy.splits[op.name] = draw_feasible({&op, &s}, terms, draw_split, own);
  }
  return strategy;
}

}  // namespace

Strategy random_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed) {
  return draw_strategy(graph, machine, seed, draw_listed);
}

Strategy random_view_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed) {
  return draw_strategy(graph, machine, seed, draw_view);
}

}  // namespace troika
