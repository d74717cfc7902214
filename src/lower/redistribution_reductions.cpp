// Sums that just the devices need that hold their terms.
#include <algorithm>
#include <bit>

#include "lower/redistribution_members.h"

namespace troika::redistribution {
namespace {

class Reductions {
 public:
  Reductions(Draft& draft, Terms& terms, std::vector<Need>& needs)
      : draft_(draft),
        terms_(terms),
        needs_(needs),
        holders_(draft.boxes, terms),
        lists_(draft, needs) {}

  void run() {
    // A tree over the members exists only for a power of two of them.
    if (draft_.request.fixed_order &&
        !std::has_single_bit(static_cast<std::uint32_t>(terms_.size())))
      return;
    for (std::int32_t at = 0; at < holders_.size(); ++at)
      if (is_reducible(at)) reduce_box(at);
    replace_terms();
  }

 private:
  /// Every term has just one box here, this one. (That each is on another device is seen later.)
  bool is_reducible(std::int32_t at) const {
    std::span<const std::int32_t> held = holders_.of(at);
    if (std::ssize(held) != terms_.size()) return false;
    for (std::int32_t term = 0; term < terms_.size(); ++term)
      if (holders_.term_of(held[term]) != term) return false;
    int found = 0;  // itself at least
    holders_.for_each_overlap(draft_.boxes[holders_.box(at)], [&](std::int32_t) { ++found; });
    return found == 1;
  }

  void reduce_box(std::int32_t at) {
    std::int32_t box = holders_.box(at);
    members_.clear();
    for (std::int32_t id : holders_.of(at)) members_.push_back(terms_.held[id]);
    met_.clear();
    if (lists_.is_needed(box)) {
      lists_.append(box, met_);
      if (lists_.match(met_, members_)) reduce(at, box);
      return;
    }
    lists_.append_overlapping(draft_.boxes[box], met_);
    std::vector<std::int32_t> parts;
    for (std::int32_t need : met_) parts.push_back(needs_[need].box);
    if (met_.size() == members_.size() && make_up(draft_.boxes, parts, box) &&
        lists_.match(met_, members_))
      scatter(box);
  }

  std::uint64_t local_of(std::size_t member) const {
    return static_cast<std::uint64_t>(met_[member]);
  }

  /// In place, but on a copy where somebody else uses a member's buffer.
  void reduce(std::int32_t at, std::int32_t box) {
    auto is_free = [&](const Held& member) { return draft_.is_free(member.buffer); };
    if (!std::ranges::all_of(members_, is_free))
      for (std::size_t member = 0; member < members_.size(); ++member)
        members_[member].buffer =
            draft_.add_copy(members_[member].buffer, box, {Phase::prepare, local_of(member)});
    draft_.add_message(Collective::all_reduce, draft_.boxes.elements(box));
    for (std::size_t member = 0; member < members_.size(); ++member) {
      draft_.add_member(members_[member].buffer, local_of(member));
      needs_[met_[member]].buffer = members_[member].buffer;
    }
    draft_.add_calls();
    for (std::int32_t id : holders_.of(at)) terms_.held[id].buffer = -1;
    sums_.insert(sums_.end(), members_.begin(), members_.end());
  }

  /// From now on every member has the sum, and no term has a part of it any more.
  void replace_terms() {
    if (sums_.empty()) return;
    Terms left;
    left.held = std::move(sums_);
    for (std::int32_t term = 0; term < terms_.size(); ++term) {
      for (const Held& held : terms_[term])
        if (held.buffer >= 0) left.held.push_back(held);
      left.close_term(terms_.from[term]);
    }
    terms_ = std::move(left);
  }

  /// Every member cuts its term into the members' blocks; afterwards each has the sum in its own.
  void scatter(std::int32_t box) {
    std::vector<std::int32_t> parts;
    for (std::int32_t need : met_) parts.push_back(needs_[need].box);
    VectorBlocks blocks(draft_, std::move(parts), box);
    std::vector<std::int32_t> vectors;
    for (std::size_t member = 0; member < members_.size(); ++member) {
      vectors.push_back(blocks.add_vector(draft_, members_[member].device));
      needs_[met_[member]].buffer = cut(blocks, vectors.back(), member);
    }
    draft_.add_message(Collective::reduce_scatter, blocks.count, blocks.ranges);
    for (std::size_t member = 0; member < members_.size(); ++member)
      draft_.add_member(vectors[member], local_of(member));
    draft_.add_calls();
  }

  /// Puts a term into the vector; returns the member's own block.
  std::int32_t cut(const VectorBlocks& blocks, std::int32_t vector, std::size_t member) {
    Turn turn{Phase::prepare, local_of(member)};
    std::int32_t own = blocks.add_block(draft_, vector, member);
    if (blocks.in_order) {
      draft_.add_input(members_[member].buffer, blocks.whole);
      draft_.add_step(Step::Kind::assemble, vector, turn);
      return own;
    }
    std::size_t count = blocks.parts.size();
    for (std::size_t step = 0; step < count; ++step) {
      std::size_t at = (member + step) % count;
      std::int32_t block = at == member ? own : blocks.add_block(draft_, vector, at);
      draft_.add_input(members_[member].buffer, blocks.parts[at]);
      draft_.add_step(Step::Kind::assemble, block, turn);
    }
    return own;
  }

  Draft& draft_;
  Terms& terms_;
  std::vector<Need>& needs_;
  Holders holders_;
  NeedLists lists_;
  std::vector<Held> members_, sums_;
  std::vector<std::int32_t> met_;  // by member: its need
};

}  // namespace

void exchange_terms(Draft& draft, Terms& terms, std::vector<Need>& needs) {
  Reductions(draft, terms, needs).run();
}

}  // namespace troika::redistribution
