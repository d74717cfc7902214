#include "strategy/tile_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kManyTiles = 1 << 20;
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
  return fmt::format("{}", fmt::join(fitting, ", "));
}

}  // namespace

Reason why_tiles_infeasible(const SplitSubject& subject, const Split& split,
                            const SplitTerms& terms) {
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

std::int64_t tile_count(const Split& split) {
  std::int64_t tiles = 1;
  for (const auto& [axis, degree] : split.degrees) tiles = std::min(tiles * degree, kManyTiles);
  return tiles;
}

}  // namespace troika
