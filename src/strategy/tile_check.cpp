#include "strategy/tile_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

/// Degrees that are tried to say what would fit.
constexpr std::int64_t kMostDegrees = 64;

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

/// Says which parts of an axis are alike for why_box_wrong, wherever they lie: equally long, with
/// the same ends on bounds of `whole`, and with as many indices under each inverse map. Other maps
/// touch as many indices for parts of one length. Only clipping at the border of a tensor depends
/// on the place, and if it leaves nothing of a part, it leaves nothing of the first or the last
/// part either. localize() refuses a tile for nothing but these facts.
class PartKinds {
 public:
  PartKinds(const Signature& s, std::size_t axis) : whole_(s.axes[axis].whole) {
    for (const Slot& slot : s.slots)
      for (const DimMap& map : slot.dims)
        if (map.axis == static_cast<int>(axis) && map.inverse &&
            std::ranges::find(inverse_, map) == inverse_.end())
          inverse_.push_back(map);
  }

  /// Whether no part of this kind was given before.
  bool is_new(Range part) {
    // Most axes have neither, and thousands of parts of two lengths.
    bool length_decides = whole_ == 1 && inverse_.empty();
    if (length_decides && part.extent() == last_length_) return false;
    last_length_ = part.extent();
    std::vector<std::int64_t>& kind = now_;
    kind.assign({part.extent()});
    if (whole_ != 1) {
      kind.push_back(part.begin % whole_ == 0);
      kind.push_back(part.end % whole_ == 0);
    }
    for (const DimMap& map : inverse_)
      kind.push_back(floor_div(part.end - 1 + map.pad, map.stride) -
                     floor_div(part.begin + map.pad - map.reach, map.stride));
    if (std::ranges::find(kinds_, kind) != kinds_.end()) return false;
    kinds_.push_back(kind);
    return true;
  }

 private:
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
  }

  std::int64_t whole_;
  std::int64_t last_length_ = -1;
  std::vector<DimMap> inverse_;
  std::vector<std::vector<std::int64_t>> kinds_;
  std::vector<std::int64_t> now_;
};

/// Looks at the parts of one axis, with `box` along the others.
class AxisCheck {
 public:
  AxisCheck(const SplitSubject& subject, Region box, std::size_t axis)
      : subject_(subject), box_(std::move(box)), axis_(axis) {}

  Reason run(const std::vector<Range>& parts) {
    PartKinds kinds(*subject_.signature, axis_);
    for (std::size_t at = 0; at < parts.size(); ++at) {
      bool is_last = at + 1 == parts.size();
      if ((kinds.is_new(parts[at]) || is_last) && why_wrong(parts[at])) return first_reason(parts);
    }
    return std::nullopt;
  }

 private:
  Reason first_reason(const std::vector<Range>& parts) {
    for (Range part : parts)
      if (auto reason = why_wrong(part)) return reason;
    return std::nullopt;
  }

  Reason why_wrong(Range part) {
    box_.ranges[axis_] = part;
    return why_box_wrong(subject_, box_);
  }

  const SplitSubject& subject_;
  Region box_;
  const std::size_t axis_;
};

/// The reason of the first tile that cannot be computed. A tile is a product of parts and each
/// condition is about one axis, so that every part is looked at once, beside the first parts of the
/// other axes. The last axis comes first, as it does in the order of the tiles.
Reason why_boxes_wrong(const SplitSubject& subject, const Split& split, const SplitTerms& terms) {
  const Signature& s = *subject.signature;
  // Other micro-batches are the same but for a shift by whole shards.
  std::int64_t count = sample_axis(s) < 0 ? 1 : terms.micro_batches;
  std::vector<std::vector<Range>> parts;
  Region first;
  for (const Axis& axis : s.axes) {
    parts.push_back(parts_along(axis, split, {count - 1, count}));
    first.ranges.push_back(parts.back().front());
  }
  if (auto reason = why_box_wrong(subject, first)) return reason;
  for (std::size_t axis = parts.size(); axis-- > 0;) {
    if (parts[axis].size() == 1) continue;
    if (auto reason = AxisCheck(subject, first, axis).run(parts[axis])) return reason;
  }
  return std::nullopt;
}

/// Degrees of this axis that would do in place of the split's, as a list; empty: none but 1.
std::string fitting_degrees(const SplitSubject& subject, const Split& split, const Axis& axis,
                            const SplitTerms& terms) {
  std::vector<std::string> fitting;
  std::int64_t most = std::min(cut_extent(axis, terms.micro_batches), kMostDegrees);
  for (std::int64_t degree = 1; degree <= most; ++degree) {
    Split other = split;
    std::erase_if(other.factors, [&](const Factor& factor) { return factor.axis == axis.name; });
    other.factors.push_back({axis.name, degree});
    if (!why_boxes_wrong(subject, other, terms)) fitting.push_back(std::to_string(degree));
  }
  return fmt::format("{}", fmt::join(fitting, ", "));
}

}  // namespace

Reason why_tiles_infeasible(const SplitSubject& subject, const Split& split,
                            const SplitTerms& terms) {
  auto reason = why_boxes_wrong(subject, split, terms);
  if (!reason) return std::nullopt;
  std::string fitting;
  for (const Axis& axis : subject.signature->axes) {
    if (degree_along(split, axis.name) == 1) continue;
    std::string degrees = fitting_degrees(subject, split, axis, terms);
    if (!degrees.empty())
      fitting += fmt::format("{} {} ways along '{}'", fitting.empty() ? "; what fits:" : ", or",
                             degrees, axis.name);
  }
  return fmt::format("operator '{}' cannot be split so: {}{}", subject.op->name, *reason, fitting);
}

}  // namespace troika
