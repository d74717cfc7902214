// Internal to redistribution: what is done for each reader, in this order.
#pragma once

#include <vector>

#include "lower/redistribution_draft.h"

namespace troika::redistribution {

/// The terms of all contributions. Those that lie alike are added up where the request says so
/// after each contribution, or so that their order is fixed.
Terms collect_terms(Draft& draft);

/// Adds up terms that have the same boxes on the same devices, each on its own device.
void merge_terms(Draft& draft, Terms& terms);

/// Who holds which box of some terms: each box once, with its holders.
class Holders {
 public:
  Holders(const BoxTable& boxes, const Terms& terms);

  const Terms& terms() const { return terms_; }
  std::int32_t size() const { return static_cast<std::int32_t>(boxes_.size()); }
  /// In the order in which they first occur.
  std::int32_t box(std::int32_t at) const { return boxes_[at]; }
  /// Indices into terms().held, in its order: term by term.
  std::span<const std::int32_t> of(std::int32_t at) const {
    return std::span(held_).subspan(firsts_[at], firsts_[at + 1] - firsts_[at]);
  }
  std::int32_t term_of(std::int32_t held) const { return term_of_[held]; }
  /// Calls visit(at) for each box that overlaps this one, in any order.
  template <class Visit>
  void for_each_overlap(const Box& box, Visit&& visit) const {
    index_.for_each_overlap(box, visit);
  }

 private:
  const Terms& terms_;
  std::vector<std::int32_t> boxes_, firsts_, held_, term_of_;
  BoxIndex index_;
};

bool are_disjoint(const BoxTable& boxes, std::span<const std::int32_t> ids);
/// Whether boxes do not overlap and together are just as large as `whole`, inside of it.
bool make_up(const BoxTable& boxes, std::span<const std::int32_t> parts, std::int32_t whole);

/// Meets needs by reductions among the devices that hold terms of them: needs of one box on just
/// the devices that each hold one term of it (all_reduce), disjoint needs that make up such a box
/// (reduce_scatter). An all_reduce replaces what it sums up in the terms.
void exchange_terms(Draft& draft, Terms& terms, std::vector<Need>& needs);

/// Meets needs of a box that lies in disjoint parts on just the devices in need (all_gather), or,
/// if there are none, all-to-alls.
void exchange_value(Draft& draft, const Holders& holders, std::vector<Need>& needs);

/// So many single transfers a device can as well do one by one; with more devices there would be a
/// message for each pair of them.
inline constexpr std::int32_t kFewestOfAllToAll = 8;

/// Meets needs of groups of at least so many devices, each with one box and one need, such that
/// every box has the same number of elements for every need, and nothing else. Where a device holds
/// several boxes (the producer's and one that was brought for another reader) or has several needs,
/// its group is left alone: transfers bring just what it lacks.
void exchange_all_to_all(Draft& draft, const Holders& holders, std::vector<Need>& needs);

/// Meets all needs out of what their devices hold and of messages, in which each element of a
/// term comes to a device at most once. `tiles` are those of the reader.
void transfer(Draft& draft, const Holders& holders, std::span<const Touch> tiles,
              std::vector<Need>& needs);

}  // namespace troika::redistribution
