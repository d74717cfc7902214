#include "strategy/split_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "strategy/tile_check.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

/// Sums of weights stay finite.
constexpr double kMostWeight = 1e12;

std::string names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return fmt::format("{}", fmt::join(names, ", "));
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
      if (!(weight > 0 && weight <= kMostWeight))
        return fmt::format(
            "operator '{}' has the weight {} along '{}'; weights are above 0 and at most {:g}",
            subject.op->name, weight, name, kMostWeight);
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
  if (split.replicas < 1 || split.replicas > terms.devices)
    return fmt::format("operator '{}' has {} replicas; 1 to {} fit, each on a device of its own",
                       name, split.replicas, terms.devices);
  std::int64_t tiles = tile_count(split);
  auto listed = static_cast<std::int64_t>(split.devices.size());
  if (tiles * split.replicas != listed)
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
          "operator '{}' is placed on device {}, but the run has {} {}, counted from 0", name,
          device.value, terms.devices, terms.devices == 1 ? "device" : "devices");
  }
  for (std::size_t tile = 0; tile < static_cast<std::size_t>(tiles); ++tile) {
    std::set<DeviceId> seen;
    for (std::size_t at = 0; at < static_cast<std::size_t>(split.replicas); ++at) {
      DeviceId device = split.devices[tile * static_cast<std::size_t>(split.replicas) + at];
      if (!seen.insert(device).second)
        return fmt::format(
            "operator '{}' has two replicas of tile {} on device {}; each needs a device of its "
            "own",
            name, tile, device.value);
    }
  }
  return std::nullopt;
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
  return why_tiles_infeasible(subject, split, terms);
}

}  // namespace troika
