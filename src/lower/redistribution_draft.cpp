#include "lower/redistribution_draft.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace troika::redistribution {
namespace {

constexpr int kLocalBits = 40, kPhaseBits = 2;

std::int32_t count_devices(const RedistributionRequest& request) {
  std::int32_t last = -1;
  for (const Contribution& from : request.from)
    for (const Touch& tile : from.tiles) last = std::max(last, tile.device);
  for (const std::vector<Touch>& reader : request.readers)
    for (const Touch& tile : reader) last = std::max(last, tile.device);
  return last + 1;
}

}  // namespace

std::int32_t& PairMap::find_or_add(std::uint64_t key, std::int32_t value) {
  if (2 * count_ >= slots_.size()) reserve(std::max<std::size_t>(2 * count_, 8));
  Slot& slot = slots_[slot_of(key)];
  if (!slot.used) {
    slot = {key, value, true};
    ++count_;
  }
  return slot.value;
}

const std::int32_t* PairMap::find(std::uint64_t key) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(key)];
  return slot.used ? &slot.value : nullptr;
}

void PairMap::reserve(std::size_t count) {
  std::size_t wanted = std::bit_ceil(2 * count + 2);
  if (wanted <= slots_.size()) return;
  std::vector<Slot> old(wanted);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.used) slots_[slot_of(slot.key)] = slot;
}

void PairMap::clear() {
  slots_.clear();
  count_ = 0;
}

std::size_t PairMap::slot_of(std::uint64_t key) const {
  std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
  std::size_t slot = (hash ^ hash >> 32) & mask;
  while (slots_[slot].used && slots_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

Draft::Draft(const RedistributionRequest& asked, const Neighbourhood& neighbourhood)
    : request(asked),
      where(neighbourhood),
      boxes(asked.boxes, asked.frame.dims),
      devices(count_devices(asked)),
      contributions_(static_cast<std::int32_t>(asked.from.size())) {
  TROIKA_CHECK(where.process.empty() || std::ssize(where.process) >= devices);
  TROIKA_CHECK(where.node.empty() || std::ssize(where.node) >= devices);
  for (std::int32_t from = 0; from < contributions_; ++from) {
    const std::vector<Touch>& tiles = request.from[from].tiles;
    for (std::int32_t tile = 0; tile < std::ssize(tiles); ++tile) {
      PlacedBuffer& made =
          buffers_[add_buffer(PlacedBuffer::Kind::written, tiles[tile].device, tiles[tile].box)];
      made.origin = from;
      made.tile = tile;
    }
  }
}

std::int32_t Draft::add_buffer(PlacedBuffer::Kind kind, std::int32_t device, std::int32_t box) {
  buffers_.push_back({.kind = kind, .device = device, .box = box, .elements = boxes.elements(box)});
  used_.push_back(false);
  return static_cast<std::int32_t>(buffers_.size()) - 1;
}

std::int32_t Draft::add_vector(std::int32_t device, std::int32_t box, std::int64_t count) {
  buffers_.push_back(
      {.kind = PlacedBuffer::Kind::vector, .device = device, .box = box, .elements = count});
  used_.push_back(false);
  return static_cast<std::int32_t>(buffers_.size()) - 1;
}

std::int32_t Draft::add_block(std::int32_t vector, std::int32_t box, std::int64_t offset) {
  std::int32_t id = add_buffer(PlacedBuffer::Kind::block, buffers_[vector].device, box);
  buffers_[id].origin = vector;
  buffers_[id].offset = offset;
  return id;
}

void Draft::add_input(std::int32_t buffer, std::int32_t box) {
  inputs_.push_back({buffer, box});
  mark_used(buffer);
}

void Draft::add_step(Step::Kind kind, std::int32_t out, Turn turn) {
  auto end = static_cast<std::int32_t>(inputs_.size());
  steps_.push_back({.kind = kind,
                    .device = buffers_[out].device,
                    .moment = moment_,
                    .out = out,
                    .first_input = first_input_,
                    .input_count = end - first_input_});
  turns_.push_back((round_ << kPhaseBits | static_cast<std::uint64_t>(turn.phase)) << kLocalBits |
                   turn.local);
  first_input_ = end;
}

std::int32_t Draft::add_copy(std::int32_t from, std::int32_t box, Turn turn) {
  std::int32_t copy = add_buffer(PlacedBuffer::Kind::value, buffers_[from].device, box);
  add_input(from, box);
  add_step(Step::Kind::assemble, copy, turn);
  return copy;
}

void Draft::reserve_calls(std::size_t messages, std::size_t members) {
  // At least by half, so that many small reservations cost no more than growing item by item.
  auto grow = [](auto& items, std::size_t more) {
    if (items.size() + more > items.capacity())
      items.reserve(std::max(items.size() + more, items.capacity() + items.capacity() / 2));
  };
  grow(messages_, messages);
  grow(members_, members);
  grow(locals_, members);
  grow(buffers_, members);
  grow(used_, members);
  grow(steps_, 2 * members);
  grow(turns_, 2 * members);
}

std::int32_t Draft::add_message(Collective kind, std::int64_t count,
                                std::span<const Range> blocks) {
  messages_.push_back(
      {.kind = kind,
       .first_member = static_cast<std::int32_t>(members_.size()),
       .elements = count,
       .first_range = blocks.empty() ? -1 : static_cast<std::int32_t>(ranges_.size())});
  ranges_.insert(ranges_.end(), blocks.begin(), blocks.end());
  return static_cast<std::int32_t>(messages_.size()) - 1;
}

void Draft::add_member(std::int32_t buffer, std::uint64_t local) {
  members_.push_back({buffers_[buffer].device, buffer});
  locals_.push_back(local);
  mark_used(buffer);
  ++messages_.back().members;
}

void Draft::add_calls() {
  auto id = static_cast<std::int32_t>(messages_.size()) - 1;
  const Message& message = messages_.back();
  for (Step::Kind kind : {Step::Kind::start, Step::Kind::finish}) {
    Phase phase = kind == Step::Kind::start ? Phase::prepare : Phase::finish;
    for (std::int32_t member = 0; member < message.members; ++member) {
      std::int32_t at = message.first_member + member;
      add_step(kind, members_[at].buffer, {phase, locals_[at]});
      steps_.back().message = id;
      steps_.back().member = member;
    }
  }
}

bool Draft::is_free(std::int32_t buffer) const {
  const PlacedBuffer& asked = buffers_[buffer];
  bool is_shared = asked.kind == PlacedBuffer::Kind::written && request.from[asked.origin].shared;
  return !is_shared && !used_[buffer];
}

}  // namespace troika::redistribution
