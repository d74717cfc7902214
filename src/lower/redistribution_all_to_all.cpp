// Redistributions in which every device of a group has an equal part for every other one.
#include <algorithm>
#include <numeric>

#include "lower/redistribution_stages.h"

namespace troika::redistribution {
namespace {

constexpr std::int32_t kNone = -1, kSeveral = -2;

class AllToAlls {
 public:
  AllToAlls(Draft& draft, const Holders& holders, std::vector<Need>& needs)
      : draft_(draft),
        holders_(holders),
        needs_(needs),
        leaders_(draft.devices),
        unfit_(draft.devices) {
    std::iota(leaders_.begin(), leaders_.end(), 0);
  }

  void run() {
    join_devices();
    std::vector<std::int32_t> held_on = only_on_devices(holders_.terms().held);
    std::vector<std::int32_t> need_on = only_on_devices(needs_);
    std::vector<std::vector<std::int32_t>> groups(draft_.devices);  // by leader: what it holds
    for (std::int32_t at = 0; at < std::ssize(holders_.terms().held); ++at)
      groups[leader(holders_.terms().held[at].device)].push_back(at);
    for (std::int32_t first = 0; first < draft_.devices; ++first) {
      if (unfit_[first] || std::ssize(groups[first]) < kFewestOfAllToAll) continue;
      members_.clear();
      for (std::int32_t at : groups[first]) {
        const Held& held = holders_.terms().held[at];
        if (held_on[held.device] == at && need_on[held.device] >= 0)
          members_.push_back({held, need_on[held.device]});
      }
      bool is_whole =
          members_.size() == groups[first].size() && needs_in_[first] == std::ssize(members_);
      if (is_whole && are_equal_blocks()) trade();
    }
  }

 private:
  struct Member {
    Held held;
    std::int32_t need;
  };

  const Box& box(std::int32_t id) const { return draft_.boxes[id]; }

  std::int32_t leader(std::int32_t device) {
    while (leaders_[device] != device) device = leaders_[device] = leaders_[leaders_[device]];
    return device;
  }

  /// Devices that have elements for each other, directly or through others, get one leader.
  void join_devices() {
    for (const Need& need : needs_) {
      std::int32_t blocks = 0;
      holders_.for_each_overlap(box(need.box), [&](std::int32_t at) {
        ++blocks;
        const Held& held = holders_.terms().held[holders_.of(at)[0]];
        if (holders_.of(at).size() > 1) unfit_[held.device] = true;
        leaders_[leader(held.device)] = leader(need.device);
      });
      if (blocks < kFewestOfAllToAll) unfit_[need.device] = true;
    }
    for (std::int32_t device = 0; device < draft_.devices; ++device)
      if (unfit_[device]) unfit_[leader(device)] = true;
    needs_in_.resize(draft_.devices);
    for (const Need& need : needs_) ++needs_in_[leader(need.device)];
  }

  /// Index of the only item on each device, or kNone or kSeveral.
  template <class Items>
  std::vector<std::int32_t> only_on_devices(const Items& items) const {
    std::vector<std::int32_t> only(draft_.devices, kNone);
    for (std::int32_t at = 0; at < std::ssize(items); ++at) {
      std::int32_t& found = only[items[at].device];
      found = found == kNone ? at : kSeveral;
    }
    return only;
  }

  /// Every box is cut into equal blocks, one for each need, which is made of nothing else.
  bool are_equal_blocks() const {
    auto count = static_cast<std::int64_t>(members_.size());
    std::int64_t block = draft_.boxes.elements(members_[0].held.box) / count;
    if (block == 0) return false;
    for (const Member& from : members_) {
      if (draft_.boxes.elements(from.held.box) != count * block ||
          draft_.boxes.elements(needs_[from.need].box) != count * block)
        return false;
      for (const Member& to : members_) {
        const Box &held = box(from.held.box), &need = box(needs_[to.need].box);
        int dims = draft_.boxes.dims();
        if (!overlap(held, need, dims) || elements(intersect(held, need, dims), dims) != block)
          return false;
      }
    }
    std::vector<std::int32_t> boxes;
    for (const Member& member : members_) boxes.push_back(member.held.box);
    return are_disjoint(draft_.boxes, boxes);
  }

  std::int32_t block_between(const Member& from, const Member& to) {
    return draft_.boxes.find_or_add(
        intersect(box(from.held.box), box(needs_[to.need].box), draft_.boxes.dims()));
  }

  /// Every member sends each of the others its block; what it keeps is read where it lies.
  void trade() {
    auto count = static_cast<std::int64_t>(members_.size());
    std::int64_t sent = draft_.boxes.elements(members_[0].held.box);
    std::vector<Range> ranges;
    std::vector<std::int32_t> vectors;
    for (std::int64_t at = 0; at < count; ++at)
      ranges.push_back({at * (sent / count), (at + 1) * (sent / count)});
    for (std::size_t at = 0; at < members_.size(); ++at) vectors.push_back(fill(at, ranges));
    draft_.add_message(Collective::all_to_all, sent, ranges);
    for (std::size_t at = 0; at < members_.size(); ++at)
      draft_.add_member(vectors[at], local_of(at));
    draft_.add_calls();
    for (std::size_t at = 0; at < members_.size(); ++at) join(at, vectors[at], ranges);
  }

  std::uint64_t local_of(std::size_t member) const {
    return static_cast<std::uint64_t>(members_[member].need);
  }

  /// What a member sends, its blocks for the others filled in, and room for what it receives.
  std::int32_t fill(std::size_t member, const std::vector<Range>& ranges) {
    const Held& held = members_[member].held;
    std::int32_t vector = draft_.add_vector(held.device, -1, 2 * draft_.boxes.elements(held.box));
    for (std::size_t step = 1; step < members_.size(); ++step) {
      std::size_t to = (member + step) % members_.size();
      std::int32_t block = block_between(members_[member], members_[to]);
      draft_.add_input(held.buffer, block);
      draft_.add_step(Step::Kind::assemble, draft_.add_block(vector, block, ranges[to].begin),
                      {Phase::prepare, local_of(member)});
    }
    return vector;
  }

  void join(std::size_t member, std::int32_t vector, const std::vector<Range>& ranges) {
    const Held& held = members_[member].held;
    Need& need = needs_[members_[member].need];
    draft_.add_input(held.buffer, block_between(members_[member], members_[member]));
    for (std::size_t step = 1; step < members_.size(); ++step) {
      std::size_t from = (member + step) % members_.size();
      std::int32_t block = block_between(members_[from], members_[member]);
      std::int64_t offset = draft_.boxes.elements(held.box) + ranges[from].begin;
      draft_.add_input(draft_.add_block(vector, block, offset), block);
    }
    need.buffer = draft_.add_buffer(PlacedBuffer::Kind::value, need.device, need.box);
    draft_.add_step(Step::Kind::assemble, need.buffer, {Phase::assemble, local_of(member)});
  }

  Draft& draft_;
  const Holders& holders_;
  std::vector<Need>& needs_;
  std::vector<std::int32_t> leaders_, needs_in_;  // by device; the latter by leader
  std::vector<bool> unfit_;                       // by device: its group is not one
  std::vector<Member> members_;
};

}  // namespace

void exchange_all_to_all(Draft& draft, const Holders& holders, std::vector<Need>& needs) {
  if (std::min<std::int64_t>(holders.size(), std::ssize(needs)) < kFewestOfAllToAll) return;
  AllToAlls(draft, holders, needs).run();
}

}  // namespace troika::redistribution
