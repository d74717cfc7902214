#include "strategy/split_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

/// More tiles than this are counted as this many.
constexpr std::int64_t kManyTiles = 1 << 20;
/// Degrees that are tried to say what would fit.
constexpr std::int64_t kMostDegrees = 64;

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return joined(names);
}

std::int64_t tile_count(const Split& split) {
  std::int64_t tiles = 1;
  for (const auto& [axis, degree] : split.degrees) tiles = std::min(tiles * degree, kManyTiles);
  return tiles;
}

Reason why_axis_unknown(const SplitSubject& subject, const Split& split) {
  auto known = [&](const std::string& name) { return subject.signature->axis(name) >= 0; };
  auto sentence = [&](const std::string& name) {
    return fmt::format("operator '{}' has no axis '{}'; it has {}", subject.op->name, name,
                       names_of(subject.signature->axes));
  };
  for (const auto& [name, degree] : split.degrees)
    if (!known(name)) return sentence(name);
  for (const auto& [name, weights] : split.weights)
    if (!known(name)) return sentence(name);
  return std::nullopt;
}

Reason why_degrees_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  for (const Axis& axis : subject.signature->axes) {
    auto found = split.degrees.find(axis.name);
    std::int64_t extent = cut_extent(axis, terms.micro_batches);
    if (found == split.degrees.end() || (found->second >= 1 && found->second <= extent)) continue;
    return fmt::format("operator '{}' cannot be split {} ways along '{}', which has {} {}{}{}",
                       subject.op->name, found->second, axis.name, extent,
                       extent == 1 ? "index" : "indices",
                       extent < axis.extent ? " in a micro-batch" : "",
                       extent == 1 ? "" : fmt::format("; 1 to {} ways fit", extent));
  }
  return std::nullopt;
}

Reason why_weights_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  for (const auto& [name, weights] : split.weights) {
    auto found = split.degrees.find(name);
    auto degree = found == split.degrees.end() ? 1 : found->second;
    if (static_cast<std::int64_t>(weights.size()) != degree)
      return fmt::format(
          "operator '{}' has {} weights along '{}', which is split {} ways; give one weight for "
          "each part",
          subject.op->name, weights.size(), name, degree);
    for (double weight : weights) {
      if (!(weight > 0) || !std::isfinite(weight))
        return fmt::format(
            "operator '{}' has the weight {} along '{}'; weights are numbers above 0",
            subject.op->name, weight, name);
    }
    const Axis& axis =
        subject.signature->axes[static_cast<std::size_t>(subject.signature->axis(name))];
    std::int64_t extent = cut_extent(axis, terms.micro_batches);
    std::vector<Range> parts = cut({0, extent}, degree, weights);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (!parts[part].empty()) continue;
      return fmt::format(
          "operator '{}' would get nothing in part {} along '{}', because its weight is {} and "
          "there are {} indices; make the weights more alike, or split fewer ways",
          subject.op->name, part, name, weights[part], extent);
    }
  }
  return std::nullopt;
}

Reason why_devices_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  const std::string& name = subject.op->name;
  if (split.replicas < 1)
    return fmt::format("operator '{}' has {} replicas; at least 1 is needed", name, split.replicas);
  std::int64_t tiles = tile_count(split);
  auto listed = static_cast<std::int64_t>(split.devices.size());
  if (split.replicas > kManyTiles || tiles * split.replicas != listed)
    return split.replicas == 1
               ? fmt::format("operator '{}' has {} tiles but {} devices; list one for each tile",
                             name, tiles, listed)
               : fmt::format(
                     "operator '{}' has {} tiles in {} replicas but {} devices; list {}, those of "
                     "one tile next to each other",
                     name, tiles, split.replicas, listed, tiles * split.replicas);
  for (DeviceId device : split.devices) {
    if (!device.valid() || static_cast<std::int64_t>(device.index()) >= terms.devices)
      return fmt::format(
          "operator '{}' is placed on device {}, but the machine has {}, from 0 to {}", name,
          device.value, terms.devices, terms.devices - 1);
  }
  for (std::size_t tile = 0; tile < static_cast<std::size_t>(tiles); ++tile) {
    std::set<DeviceId> seen;
    for (std::size_t at = 0; at < static_cast<std::size_t>(split.replicas); ++at) {
      DeviceId device = split.devices[tile * static_cast<std::size_t>(split.replicas) + at];
      if (!seen.insert(device).second)
        return fmt::format(
            "operator '{}' has two replicas of tile {} on device {}; replicas are on different "
            "devices, so at most {} fit on this machine",
            name, tile, device.value, terms.devices);
    }
  }
  return std::nullopt;
}

/// Why this box cannot be computed on its own, as the end of a sentence.
Reason why_box_wrong(const SplitSubject& subject, const Region& box) {
  const Signature& s = *subject.signature;
  if (s.needs_stages(box) && s.staged.empty()) {
    for (std::size_t at = 0; at < s.axes.size(); ++at) {
      const Axis& axis = s.axes[at];
      if (box[at].begin % axis.whole != 0 || box[at].end % axis.whole != 0)
        return fmt::format("it works on {} indices of '{}' at a time, and a tile would cut them",
                           axis.whole, axis.name);
    }
  }
  for (const Slot& slot : s.slots) {
    if (region_of(slot, box).empty())
      return fmt::format("its tile {} would touch nothing of '{}'", to_string(box), slot.name);
  }
  try {
    localize(subject.op->op, s, box);
  } catch (const Error& error) {
    return std::string(error.what());
  }
  return std::nullopt;
}

Reason why_boxes_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  // Other micro-batches are the same but for a shift by whole shards.
  std::int64_t parts = sample_axis(*subject.signature) < 0 ? 1 : terms.micro_batches;
  for (const Tile& tile : tiles_of(*subject.signature, split, {parts - 1, parts}))
    if (auto reason = why_box_wrong(subject, tile.box)) return reason;
  return std::nullopt;
}

/// Degrees of this axis that would do in place of the split's, as a list; empty: none but 1.
std::string fitting_degrees(const SplitSubject& subject, const Split& split, const Axis& axis,
                            const SplitTerms& terms) {
  std::vector<std::string> fitting;
  std::int64_t most = std::min(cut_extent(axis, terms.micro_batches), kMostDegrees);
  for (std::int64_t degree = 1; degree <= most; ++degree) {
    Split other = split;
    other.degrees[axis.name] = degree;
    other.weights.erase(axis.name);
    other.replicas = 1;
    other.devices.assign(static_cast<std::size_t>(tile_count(other)), DeviceId(std::size_t{0}));
    if (!why_boxes_wrong(subject, other, terms)) fitting.push_back(std::to_string(degree));
  }
  return joined(fitting);
}

Reason why_tiles_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  auto reason = why_boxes_wrong(subject, split, terms);
  if (!reason) return std::nullopt;
  std::string fitting;
  for (const Axis& axis : subject.signature->axes) {
    auto found = split.degrees.find(axis.name);
    if (found == split.degrees.end() || found->second == 1) continue;
    std::string degrees = fitting_degrees(subject, split, axis, terms);
    if (!degrees.empty())
      fitting += fmt::format("{} {} ways along '{}'", fitting.empty() ? "; what fits:" : ", or",
                             degrees, axis.name);
  }
  return fmt::format("operator '{}' cannot be split so: {}{}", subject.op->name, *reason, fitting);
}

}  // namespace

std::int64_t cut_extent(const Axis& axis, std::int64_t micro_batches) {
  bool per_micro_batch = axis.name == "n" && axis.kind == AxisKind::sample;
  return per_micro_batch ? axis.extent / micro_batches : axis.extent;
}

int sample_axis(const Signature& signature) {
  int axis = signature.axis("n");
  bool samples =
      axis >= 0 && signature.axes[static_cast<std::size_t>(axis)].kind == AxisKind::sample;
  return samples ? axis : -1;
}

std::optional<std::string> why_split_infeasible(const SplitSubject& subject, const Split& split,
                                                const SplitTerms& terms) {
  if (auto reason = why_axis_unknown(subject, split)) return reason;
  if (auto reason = why_degrees_wrong(subject, split, terms)) return reason;
  if (auto reason = why_weights_wrong(subject, split, terms)) return reason;
  if (auto reason = why_devices_wrong(subject, split, terms)) return reason;
  return why_tiles_wrong(subject, split, terms);
}

}  // namespace troika
