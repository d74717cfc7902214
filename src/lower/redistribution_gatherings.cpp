// Boxes that just the devices need that hold their parts.
#include <algorithm>

#include "lower/redistribution_members.h"

namespace troika::redistribution {
namespace {

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
    VectorBlocks blocks(draft_, std::move(parts), box);
    for (std::size_t at = 0; at < members_.size(); ++at) {
      vectors.push_back(blocks.add_vector(draft_, members_[at].device));
      own.push_back(blocks.add_block(draft_, vectors.back(), at));
      draft_.add_input(members_[at].buffer, members_[at].box);
      draft_.add_step(Step::Kind::assemble, own.back(), {Phase::prepare, local_of(at)});
    }
    draft_.add_message(Collective::all_gather, blocks.count, blocks.ranges);
    for (std::size_t at = 0; at < members_.size(); ++at)
      draft_.add_member(vectors[at], local_of(at));
    draft_.add_calls();
    for (std::size_t at = 0; at < members_.size(); ++at) {
      Need& need = needs_[met_[at]];
      need.buffer = blocks.in_order ? vectors[at] : join(blocks, own[at], at);
      gathered_[need.device] = note_region(box, gathered_[need.device]);
    }
  }

  std::int32_t note_region(std::int32_t box, std::int32_t next) {
    regions_.push_back({box, next});
    return static_cast<std::int32_t>(regions_.size()) - 1;
  }

  /// The blocks of a vector as one box.
  std::int32_t join(const VectorBlocks& blocks, std::int32_t own, std::size_t member) {
    std::size_t count = blocks.parts.size();
    std::int32_t vector = draft_.buffer(own).origin;
    for (std::size_t step = 0; step < count; ++step) {
      std::size_t at = (member + step) % count;
      std::int32_t block = at == member ? own : blocks.add_block(draft_, vector, at);
      draft_.add_input(block, blocks.parts[at]);
    }
    std::int32_t out =
        draft_.add_buffer(PlacedBuffer::Kind::value, draft_.buffer(vector).device, blocks.whole);
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

void exchange_value(Draft& draft, const Holders& holders, std::vector<Need>& needs) {
  if (!Gatherings(draft, holders, needs).run()) exchange_all_to_all(draft, holders, needs);
}

}  // namespace troika::redistribution
