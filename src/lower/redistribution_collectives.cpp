// Redistributions that are reductions or gatherings among the devices in need.
#include <algorithm>
#include <bit>
#include <utility>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {
namespace {

/// Needs by their box, and the need of a device.
class NeedLists {
 public:
  NeedLists(const Draft& draft, const std::vector<Need>& needs)
      : draft_(draft),
        needs_(needs),
        first_of_(draft.boxes.size(), -1),
        next_(needs.size(), -1),
        on_device_(draft.devices, -1) {
    for (std::int32_t at = static_cast<std::int32_t>(needs.size()); at-- > 0;)
      next_[at] = std::exchange(first_of_[needs[at].box], at);
    for (std::int32_t at = 0; at < std::ssize(needs); ++at)
      if (first_of_[needs[at].box] == at) boxes_.push_back(needs[at].box);
  }

  /// Of all needs, each once, in their order.
  const std::vector<std::int32_t>& boxes() const { return boxes_; }
  bool is_needed(std::int32_t box) const { return first_of_[box] >= 0; }
  /// Appends the needs of this box.
  void append(std::int32_t box, std::vector<std::int32_t>& found) const {
    for (std::int32_t at = first_of_[box]; at >= 0; at = next_[at]) found.push_back(at);
  }
  /// Appends the needs that overlap this box, in their order.
  void append_overlapping(const Box& box, std::vector<std::int32_t>& found) {
    if (!std::exchange(is_indexed_, true)) index_.build(draft_.boxes, boxes_);
    index_.for_each_overlap(box, [&](std::int32_t at) { append(boxes_[at], found); });
    std::ranges::sort(found);
  }

  /// Orders the needs by their devices, as the members are; false unless each has just one.
  bool match(std::vector<std::int32_t>& found, std::span<const Held> members) {
    if (found.size() != members.size() || found.size() < 2) return false;
    for (std::int32_t at : found) on_device_[needs_[at].device] = at;
    std::vector<std::int32_t> matched;
    bool once = true;  // members that share a device find nothing the second time
    for (const Held& member : members) {
      matched.push_back(std::exchange(on_device_[member.device], -1));
      once = once && matched.back() >= 0;
    }
    for (std::int32_t at : found) on_device_[needs_[at].device] = -1;
    found = std::move(matched);
    return once;
  }

 private:
  const Draft& draft_;
  const std::vector<Need>& needs_;
  std::vector<std::int32_t> first_of_, next_;  // by box, by need
  std::vector<std::int32_t> on_device_;        // empty outside of match
  std::vector<std::int32_t> boxes_;
  BoxIndex index_;
  bool is_indexed_ = false;
};

/// One block per member, in their order, in vectors on each of them.
struct Layout {
  Layout(const Draft& draft, std::vector<std::int32_t> made_of, std::int32_t region)
      : parts(std::move(made_of)), whole(region), count(draft.boxes.elements(region)) {
    std::int64_t begin = 0;
    for (std::int32_t part : parts) {
      const Box& box = draft.boxes[part];
      in_order = in_order && find_run(box, draft.boxes[whole], draft.request.frame) == begin;
      ranges.push_back({begin, begin + draft.boxes.elements(part)});
      begin = ranges.back().end;
    }
  }

  std::vector<std::int32_t> parts;  // boxes
  std::int32_t whole;
  std::int64_t count;
  std::vector<Range> ranges;
  bool in_order = true;  // they lie as in the whole, and the vectors have its shape
};

std::int32_t add_vector(Draft& draft, const Layout& layout, std::int32_t device) {
  return draft.add_vector(device, layout.in_order ? layout.whole : -1, layout.count);
}

std::int32_t add_block(Draft& draft, const Layout& layout, std::int32_t vector, std::size_t at) {
  return draft.add_block(vector, layout.parts[at], layout.ranges[at].begin);
}

class Reductions {
 public:
  Reductions(Draft& draft, Terms& terms, std::vector<Need>& needs)
      : draft_(draft),
        terms_(terms),
        needs_(needs),
        holders_(draft.boxes, terms),
        lists_(draft, needs),
        device_seen_(draft.devices) {}

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
  /// Every term has just one box here, this one, each on a device of its own.
  bool is_reducible(std::int32_t at) {
    std::span<const std::int32_t> held = holders_.of(at);
    if (std::ssize(held) != terms_.size()) return false;
    for (std::int32_t term = 0; term < terms_.size(); ++term)
      if (holders_.term_of(held[term]) != term) return false;
    bool once = true;
    for (std::int32_t id : held) {
      auto seen = device_seen_[terms_.held[id].device];
      once = once && !seen;
      seen = true;
    }
    for (std::int32_t id : held) device_seen_[terms_.held[id].device] = false;
    int found = 0;  // itself at least
    holders_.for_each_overlap(draft_.boxes[holders_.box(at)], [&](std::int32_t) { ++found; });
    return once && found == 1;
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
      left.close_term();
    }
    terms_ = std::move(left);
  }

  /// Every member cuts its term into the members' blocks; afterwards each has the sum in its own.
  void scatter(std::int32_t box) {
    std::vector<std::int32_t> parts;
    for (std::int32_t need : met_) parts.push_back(needs_[need].box);
    Layout layout(draft_, std::move(parts), box);
    std::vector<std::int32_t> vectors;
    for (std::size_t member = 0; member < members_.size(); ++member) {
      vectors.push_back(add_vector(draft_, layout, members_[member].device));
      needs_[met_[member]].buffer = cut(layout, vectors.back(), member);
    }
    draft_.add_message(Collective::reduce_scatter, layout.count, layout.ranges);
    for (std::size_t member = 0; member < members_.size(); ++member)
      draft_.add_member(vectors[member], local_of(member));
    draft_.add_calls();
  }

  /// Puts a term into the vector; returns the member's own block.
  std::int32_t cut(const Layout& layout, std::int32_t vector, std::size_t member) {
    Turn turn{Phase::prepare, local_of(member)};
    std::int32_t own = add_block(draft_, layout, vector, member);
    if (layout.in_order) {
      draft_.add_input(members_[member].buffer, layout.whole);
      draft_.add_step(Step::Kind::assemble, vector, turn);
      return own;
    }
    std::size_t count = layout.parts.size();
    for (std::size_t step = 0; step < count; ++step) {
      std::size_t at = (member + step) % count;
      std::int32_t block = at == member ? own : add_block(draft_, layout, vector, at);
      draft_.add_input(members_[member].buffer, layout.parts[at]);
      draft_.add_step(Step::Kind::assemble, block, turn);
    }
    return own;
  }

  Draft& draft_;
  Terms& terms_;
  std::vector<Need>& needs_;
  Holders holders_;
  NeedLists lists_;
  std::vector<bool> device_seen_;
  std::vector<Held> members_, sums_;
  std::vector<std::int32_t> met_;  // by member: its need
};

class Gatherings {
 public:
  Gatherings(Draft& draft, const Holders& holders, std::vector<Need>& needs)
      : draft_(draft),
        holders_(holders),
        needs_(needs),
        lists_(draft, needs),
        gathered_(draft.devices, -1) {}

  /// The largest first: what a device gets by one it does not get again by another. Returns whether
  /// there are any.
  bool run() {
    std::vector<std::pair<std::int64_t, std::int32_t>> largest;
    for (std::int32_t box : lists_.boxes()) largest.emplace_back(draft_.boxes.elements(box), box);
    std::ranges::stable_sort(largest, std::greater{},
                             [](const auto& entry) { return entry.first; });
    for (auto [count, box] : largest) {
      met_.clear();
      lists_.append(box, met_);
      if (met_.size() < 2 || is_gathered_in_part(box) || !find_members(box)) continue;
      if (lists_.match(met_, members_)) gather(box);
    }
    return !regions_.empty();
  }

 private:
  struct Region {
    std::int32_t box, next;
  };

  bool is_gathered_in_part(std::int32_t box) const {
    for (std::int32_t need : met_)
      for (std::int32_t at = gathered_[needs_[need].device]; at >= 0; at = regions_[at].next)
        if (overlap(draft_.boxes[regions_[at].box], draft_.boxes[box], draft_.boxes.dims()))
          return true;
    return false;
  }

  /// The holders of the parts that make up the box, one of each.
  bool find_members(std::int32_t box) {
    std::vector<std::int32_t> found, parts;
    bool once = true;
    holders_.for_each_overlap(draft_.boxes[box], [&](std::int32_t at) {
      once = once && holders_.of(at).size() == 1;
      found.push_back(holders_.of(at)[0]);
    });
    if (!once || found.size() != met_.size()) return false;
    std::ranges::sort(found);
    members_.clear();
    for (std::int32_t id : found) {
      members_.push_back(holders_.terms().held[id]);
      parts.push_back(members_.back().box);
    }
    return make_up(draft_.boxes, parts, box);
  }

  /// Every member puts its part into its block; afterwards all have all blocks.
  void gather(std::int32_t box) {
    std::vector<std::int32_t> parts, vectors, own;
    for (const Held& member : members_) parts.push_back(member.box);
    Layout layout(draft_, std::move(parts), box);
    for (std::size_t at = 0; at < members_.size(); ++at) {
      vectors.push_back(add_vector(draft_, layout, members_[at].device));
      own.push_back(add_block(draft_, layout, vectors.back(), at));
      draft_.add_input(members_[at].buffer, members_[at].box);
      draft_.add_step(Step::Kind::assemble, own.back(), {Phase::prepare, local_of(at)});
    }
    draft_.add_message(Collective::all_gather, layout.count, layout.ranges);
    for (std::size_t at = 0; at < members_.size(); ++at)
      draft_.add_member(vectors[at], local_of(at));
    draft_.add_calls();
    for (std::size_t at = 0; at < members_.size(); ++at) {
      Need& need = needs_[met_[at]];
      need.buffer = layout.in_order ? vectors[at] : join(layout, own[at], at);
      gathered_[need.device] = note_region(box, gathered_[need.device]);
    }
  }

  std::int32_t note_region(std::int32_t box, std::int32_t next) {
    regions_.push_back({box, next});
    return static_cast<std::int32_t>(regions_.size()) - 1;
  }

  /// The blocks of a vector as one box.
  std::int32_t join(const Layout& layout, std::int32_t own, std::size_t member) {
    std::size_t count = layout.parts.size();
    std::int32_t vector = draft_.buffer(own).origin;
    for (std::size_t step = 0; step < count; ++step) {
      std::size_t at = (member + step) % count;
      std::int32_t block = at == member ? own : add_block(draft_, layout, vector, at);
      draft_.add_input(block, layout.parts[at]);
    }
    std::int32_t out =
        draft_.add_buffer(PlacedBuffer::Kind::value, draft_.buffer(vector).device, layout.whole);
    draft_.add_step(Step::Kind::assemble, out, {Phase::assemble, local_of(member)});
    return out;
  }

  std::uint64_t local_of(std::size_t member) const {
    return static_cast<std::uint64_t>(met_[member]);
  }

  Draft& draft_;
  const Holders& holders_;
  std::vector<Need>& needs_;
  NeedLists lists_;
  std::vector<Held> members_;
  std::vector<std::int32_t> met_;       // by member: its need
  std::vector<std::int32_t> gathered_;  // by device: the last of its regions
  std::vector<Region> regions_;
};

}  // namespace

void exchange_terms(Draft& draft, Terms& terms, std::vector<Need>& needs) {
  Reductions(draft, terms, needs).run();
}

void exchange_value(Draft& draft, const Holders& holders, std::vector<Need>& needs) {
  if (!Gatherings(draft, holders, needs).run()) exchange_all_to_all(draft, holders, needs);
}

}  // namespace troika::redistribution
