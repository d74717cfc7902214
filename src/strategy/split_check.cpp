#include "strategy/split_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "strategy/place_check.h"
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
  for (const Factor& factor : split.factors) {
    if (factor.axis.empty() || subject.signature->axis(factor.axis) >= 0) continue;
    return fmt::format("operator '{}' has no axis '{}'; it has {}", subject.op->name, factor.axis,
                       names_of(subject.signature->axes));
  }
  return std::nullopt;
}

Reason why_degrees_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  for (const Axis& axis : subject.signature->axes) {
    std::int64_t degree = degree_along(split, axis.name);
    std::int64_t extent = cut_extent(axis, terms.micro_batches);
    if (degree == 1 || (degree >= 1 && degree <= extent)) continue;
    return fmt::format("operator '{}' cannot be split {} ways along '{}', which has {} {}{}{}",
                       subject.op->name, degree, axis.name, extent,
                       extent == 1 ? "index" : "indices",
                       extent < axis.extent ? " in a micro-batch" : "",
                       extent == 1 ? "" : fmt::format("; 1 to {} ways fit", extent));
  }
  return std::nullopt;
}

/// Why the weights of one factor are not one positive number for each of its parts.
Reason why_numbers_wrong(const std::string& op, const Factor& factor) {
  if (factor.axis.empty())
    return fmt::format(
        "operator '{}' has weights for its replicas; only the parts of an axis have "
        "weights",
        op);
  if (static_cast<std::int64_t>(factor.weights.size()) != factor.degree)
    return fmt::format(
        "operator '{}' has {} weights along '{}', which is split {} ways; give one weight for "
        "each part",
        op, factor.weights.size(), factor.axis, factor.degree);
  for (double weight : factor.weights) {
    if (!(weight > 0 && weight <= kMostWeight))
      return fmt::format(
          "operator '{}' has the weight {} along '{}'; weights are above 0 and at most {:g}", op,
          weight, factor.axis, kMostWeight);
  }
  return std::nullopt;
}

/// The weight of a part along the axis of `weighted`, whose other factors are outside or inside it.
double weight_of(const Split& split, const Factor& weighted, std::size_t part) {
  std::int64_t inside = 1;
  for (const Factor& factor : split.factors) {
    if (&factor == &weighted)
      inside = 1;
    else if (factor.axis == weighted.axis)
      inside *= factor.degree;
  }
  return weighted.weights[part / static_cast<std::size_t>(inside) % weighted.weights.size()];
}

Reason why_part_empty(const SplitSubject& subject, const Split& split, const Factor& weighted,
                      const SplitTerms& terms) {
  const Signature& s = *subject.signature;
  const Axis& axis = s.axes[static_cast<std::size_t>(s.axis(weighted.axis))];
  // All micro-batches are equally long.
  std::vector<Range> parts = parts_along(axis, split, {0, terms.micro_batches});
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (!parts[part].empty()) continue;
    return fmt::format(
        "operator '{}' would get nothing in part {} along '{}', because its weight is {} and "
        "there are {} indices; make the weights more alike, or split fewer ways",
        subject.op->name, part, axis.name, weight_of(split, weighted, part),
        cut_extent(axis, terms.micro_batches));
  }
  return std::nullopt;
}

Reason why_weights_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  for (const Factor& factor : split.factors) {
    if (factor.weights.empty()) continue;
    if (auto reason = why_numbers_wrong(subject.op->name, factor)) return reason;
    auto is_other = [&](const Factor& other) {
      return &other != &factor && other.axis == factor.axis && !other.weights.empty();
    };
    if (std::ranges::any_of(split.factors, is_other))
      return fmt::format("operator '{}' has weights in two factors of '{}'; leave one without",
                         subject.op->name, factor.axis);
    if (auto reason = why_part_empty(subject, split, factor, terms)) return reason;
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
  if (auto reason = why_places_wrong(subject, split, terms)) return reason;
  return why_tiles_infeasible(subject, split, terms);
}

}  // namespace troika
