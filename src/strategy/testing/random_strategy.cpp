#include "strategy/testing/random_strategy.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"
#include "strategy/split_check.h"

namespace troika {
namespace {

constexpr int kAttempts = 8;
constexpr std::int64_t kMostTiles = 12;

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

void draw_degrees(Split& split, const Signature& s, const SplitTerms& terms, Draw& draw) {
  std::int64_t tiles = 1, cuts = 1 + draw.below(3);
  for (std::int64_t at = 0; at < cuts && !s.axes.empty(); ++at) {
    const Axis& axis = s.axes[static_cast<std::size_t>(draw.below(std::ssize(s.axes)))];
    std::int64_t most = std::min(cut_extent(axis, terms.micro_batches), kMostTiles / tiles);
    if (most < 2 || split.degrees.contains(axis.name)) continue;
    std::int64_t degree = 2 + draw.below(std::min<std::int64_t>(most, 5) - 1);
    split.degrees[axis.name] = degree;
    tiles *= degree;
    if (!draw.one_in(4)) continue;
    for (std::int64_t part = 0; part < degree; ++part)
      split.weights[axis.name].push_back(static_cast<double>(1 + draw.below(3)));
  }
}

void draw_devices(Split& split, std::int64_t devices, Draw& draw) {
  if (draw.one_in(4)) split.replicas = 1 + draw.below(std::min<std::int64_t>(devices, 3));
  std::int64_t tiles = 1;
  for (const auto& [axis, degree] : split.degrees) tiles *= degree;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    std::int64_t first = draw.below(devices);
    for (std::int64_t replica = 0; replica < split.replicas; ++replica)
      split.devices.push_back(DeviceId(static_cast<std::size_t>((first + replica) % devices)));
  }
}

Split draw_split(const SplitSubject& subject, const SplitTerms& terms, Draw& draw) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Split split;
    if (!draw.one_in(5)) draw_degrees(split, *subject.signature, terms, draw);
    draw_devices(split, terms.devices, draw);
    if (!why_split_infeasible(subject, split, terms)) return split;
  }
  return {.devices = {DeviceId(static_cast<std::size_t>(draw.below(terms.devices)))}};
}

}  // namespace

Strategy random_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed) {
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
    strategy.splits[op.name] = draw_split({&op, &s}, terms, own);
  }
  return strategy;
}

}  // namespace troika
