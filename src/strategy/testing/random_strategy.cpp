#include "strategy/testing/random_strategy.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"
#include "graph/cut_layers.h"
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

/// A number of chunks that a layer of `steps` time steps can be cut into.
std::int64_t draw_chunks(std::int64_t steps, Draw& draw) {
  std::array<std::int64_t, 4> all{2, 3, 5, steps};
  return std::min(all[static_cast<std::size_t>(draw.below(4))], steps);
}

/// Adds a factor of two to four parts, sometimes weighted, if the axis has as many indices.
void draw_factor(Split& split, const char* axis, std::int64_t extent, Draw& draw) {
  if (extent < 2 || draw.one_in(3)) return;
  Factor factor{axis, 2 + draw.below(std::min<std::int64_t>(extent, 4) - 1)};
  if (draw.one_in(4))
    for (std::int64_t part = 0; part < factor.degree; ++part)
      factor.weights.push_back(static_cast<double>(1 + draw.below(2)));
  split.factors.push_back(std::move(factor));
}

/// Devices for all tiles of a chunk; replicas of a tile are on different ones.
void draw_devices(Split& split, std::int64_t devices, Draw& draw) {
  std::int64_t replicas = replicas_of(split);
  for (std::int64_t tile = tile_count(split); tile > 0; --tile) {
    std::int64_t first = draw.below(devices);
    for (std::int64_t replica = 0; replica < replicas; ++replica)
      split.devices.push_back(DeviceId(static_cast<std::size_t>((first + replica) % devices)));
  }
}

/// A random split of the chunks of a layer over n, in single steps also over u.
Split draw_cut_layer(const Shape& x, std::int64_t chunks, std::int64_t devices, Draw& draw) {
  Split split{.chunks = chunks};
  if (chunks == x[1]) draw_factor(split, "u", 4, draw);
  draw_factor(split, "n", x[0], draw);
  if (draw.one_in(4)) split.factors.push_back({.axis = "", .degree = 2});
  if (draw.one_in(2)) {
    std::int64_t own = draw.one_in(2) ? chunks : 1;
    for (std::int64_t chunk = 0; chunk < own; ++chunk) draw_devices(split, devices, draw);
    std::vector<DeviceId> all = split.devices;
    for (std::int64_t chunk = own; chunk < chunks; ++chunk)
      split.devices.insert(split.devices.end(), all.begin(), all.end());
    return split;
  }
  for (Factor& factor : split.factors) factor.stride = draw.below(2);
  split.chunk_stride = draw.below(2);
  split.first = draw.below(devices);
  return split;
}

/// A random split of the product of a layer's input x with its weights.
Split draw_projection(const Shape& x, std::int64_t hidden, std::int64_t devices, Draw& draw) {
  Split split;
  draw_factor(split, "u", hidden, draw);
  if (draw.one_in(2))
    draw_factor(split, "i", x[2], draw);
  else
    draw_factor(split, "n", x[0], draw);
  draw_devices(split, devices, draw);
  return split;
}

}  // namespace

Strategy with_random_cuts(const Strategy& strategy, const Graph& graph, const Machine& machine,
                          std::uint64_t seed) {
  Draw shared(seed, "chunks");
  Strategy made = strategy;
  for (const Operator& op : graph.operators) {
    if (!std::holds_alternative<Recurrent>(op.op)) continue;
    const Shape& x = graph[op.inputs[0]].spec.shape;
    std::int64_t common = draw_chunks(x[1], shared);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Draw own(seed * kAttempts + static_cast<std::uint64_t>(attempt), op.name);
      Strategy tried = made;
      std::int64_t chunks = seed % 2 == 0 ? common : draw_chunks(x[1], own);
      tried.splits[op.name] = draw_cut_layer(x, chunks, std::ssize(machine.devices), own);
      if (chunks > 1 && own.one_in(4))
        tried.splits[projection_name(op.name)] =
            draw_projection(x, std::get<Recurrent>(op.op).hidden, std::ssize(machine.devices), own);
      if (why_infeasible(tried, graph, machine)) continue;
      made = std::move(tried);
      break;
    }
    if (seed % 2 == 0) shared = Draw(seed, "chunks");
  }
  return made;
}

Strategy random_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed) {
  return draw_strategy(graph, machine, seed, draw_listed);
}

Strategy random_view_strategy(const Graph& graph, const Machine& machine, std::uint64_t seed) {
  return draw_strategy(graph, machine, seed, draw_view);
}

}  // namespace troika
