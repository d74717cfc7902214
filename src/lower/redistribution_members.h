// Internal to redistribution: what the collectives among the devices in need have in common.
#pragma once

#include <vector>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {

/// The needs of a reader by their boxes and devices. Needs are referred to by index.
class NeedLists {
 public:
  NeedLists(const Draft& draft, const std::vector<Need>& needs);

  /// Of all needs, each once, in their order.
  const std::vector<std::int32_t>& boxes() const { return boxes_; }
  bool is_needed(std::int32_t box) const { return first_of_[box] >= 0; }
  /// Appends the needs of this box.
  void append(std::int32_t box, std::vector<std::int32_t>& found) const;
  /// Appends the needs that overlap this box, in their order.
  void append_overlapping(const Box& box, std::vector<std::int32_t>& found);
  /// Orders needs by their devices, as the members are. Returns whether each member has just one,
  /// and there are at least two.
  bool match(std::vector<std::int32_t>& found, std::span<const Held> members);

 private:
  const Draft& draft_;
  const std::vector<Need>& needs_;
  std::vector<std::int32_t> first_of_, next_;  // by box, by need
  std::vector<std::int32_t> on_device_;        // -1 outside of match
  std::vector<std::int32_t> boxes_;
  BoxIndex index_;
  bool is_indexed_ = false;
};

/// One block per member, in their order, in vectors on each of them.
struct VectorBlocks {
  VectorBlocks(const Draft& draft, std::vector<std::int32_t> made_of, std::int32_t region);

  std::int32_t add_vector(Draft& draft, std::int32_t device) const {
    return draft.add_vector(device, in_order ? whole : -1, count);
  }
  std::int32_t add_block(Draft& draft, std::int32_t vector, std::size_t at) const {
    return draft.add_block(vector, parts[at], ranges[at].begin);
  }

  std::vector<std::int32_t> parts;  ///< Boxes, by member.
  std::int32_t whole;
  std::int64_t count;
  std::vector<Range> ranges;
  bool in_order = true;  ///< They lie as in the whole, and the vectors have its shape.
};

}  // namespace troika::redistribution
