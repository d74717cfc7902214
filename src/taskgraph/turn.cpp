#include "taskgraph/turn.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika {
namespace {

constexpr int kMicroBatchBits = 10, kPhaseBits = 4, kSubjectBits = 2, kNumberBits = 16,
              kIndexBits = 16, kDeviceBits = 16;
constexpr int kSlotBits = 12, kPlaceBits = 16, kSideBits = 2, kRankBits = 14;
static_assert(kMicroBatchBits + kPhaseBits + kSubjectBits + kNumberBits + kIndexBits +
                  kDeviceBits ==
              64);
/// Urgencies of listed messages have this bit.
constexpr std::uint64_t kListed = std::uint64_t{1} << 63;
static_assert(kSlotBits + kPlaceBits + kPhaseBits + kSideBits + kNumberBits + kRankBits == 64);

/// Fields from the most significant one on.
class Packer {
 public:
  Packer& add(const char* name, std::uint64_t field, int width) {
    if (field >> width != 0)
      throw OutOfIds(
          fmt::format("a device has more tiles, parts or messages of one operator than tasks can "
                      "be numbered: {} {} does not fit into {} bits; split into fewer tiles",
                      name, field, width));
    bits_ = (bits_ << width) | field;
    return *this;
  }
  std::uint64_t bits() const { return bits_; }

 private:
  std::uint64_t bits_ = 0;
};

/// The same fields, from the least significant one on.
class Unpacker {
 public:
  explicit Unpacker(std::uint64_t bits) : bits_(bits) {}
  std::uint32_t take(int width) {
    auto field = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << width) - 1));
    bits_ >>= width;
    return field;
  }

 private:
  std::uint64_t bits_;
};

std::optional<std::string> why_too_many(const char* what, std::int64_t count, int bits) {
  std::int64_t most = std::int64_t{1} << bits;
  if (count <= most) return std::nullopt;
  return fmt::format("the program has {} {}, but tasks are numbered for at most {}", count, what,
                     most);
}

}  // namespace

PackedId pack(const IdFields& fields) {
  return {Packer()
              .add("micro-batch", fields.micro_batch, kMicroBatchBits)
              .add("phase", fields.phase, kPhaseBits)
              .add("subject", static_cast<std::uint64_t>(fields.subject), kSubjectBits)
              .add("number", fields.number, kNumberBits)
              .add("index", fields.index, kIndexBits)
              .add("device", fields.device, kDeviceBits)
              .bits()};
}

IdFields unpack(PackedId id) {
  Unpacker from(id.bits);
  IdFields fields;
  fields.device = from.take(kDeviceBits);
  fields.index = from.take(kIndexBits);
  fields.number = from.take(kNumberBits);
  fields.subject = static_cast<Subject>(from.take(kSubjectBits));
  fields.phase = from.take(kPhaseBits);
  fields.micro_batch = from.take(kMicroBatchBits);
  return fields;
}

Turn pack(const TurnFields& fields) {
  return {Packer()
              .add("slot", fields.slot, kSlotBits)
              .add("place", fields.place, kPlaceBits)
              .add("phase", fields.phase, kPhaseBits)
              .add("side", static_cast<std::uint64_t>(fields.side), kSideBits)
              .add("number", fields.number, kNumberBits)
              .add("rank", fields.rank, kRankBits)
              .bits()};
}

TurnFields unpack(Turn turn) {
  Unpacker from(turn.bits);
  TurnFields fields;
  fields.rank = from.take(kRankBits);
  fields.number = from.take(kNumberBits);
  fields.side = static_cast<Side>(from.take(kSideBits));
  fields.phase = from.take(kPhaseBits);
  fields.place = from.take(kPlaceBits);
  fields.slot = from.take(kSlotBits);
  return fields;
}

std::uint32_t rank_in(const RankRange& range, std::uint64_t offset) {
  if (offset >= range.end - range.first)
    throw OutOfIds(fmt::format("a device has more {} than turns can count; split into fewer tiles",
                               range.tasks));
  return range.first + static_cast<std::uint32_t>(offset);
}

std::uint64_t urgency_of(std::int32_t lag, Turn reader) {
  // The lag takes the bits of the rank but one, which tells listed messages from others.
  std::uint64_t place = reader.bits >> kRankBits;
  std::uint64_t needed = Packer()
                             .add("lag", static_cast<std::uint64_t>(lag), kRankBits - 1)
                             .add("place", place, 64 - kRankBits)
                             .bits();
  return kListed - 1 - needed;
}

std::uint64_t listed_urgency(std::int32_t place) { return ~static_cast<std::uint64_t>(place); }

std::optional<std::string> why_out_of_ids(const IdCounts& counts) {
  // Two slots for each micro-batch, one for the updates.
  if (auto reason = why_too_many("micro-batches", counts.micro_batches, kMicroBatchBits))
    return reason;
  // One place is for the end of the slot.
  if (auto reason = why_too_many("operators", counts.operators + 1, kNumberBits)) return reason;
  if (auto reason = why_too_many("tensors", counts.tensors, kNumberBits)) return reason;
  if (auto reason = why_too_many("parameters", counts.parameters, kNumberBits)) return reason;
  if (auto reason = why_too_many("phases of operators", counts.phases, kNumberBits)) return reason;
  if (auto reason = why_too_many("tensors, gradients and values kept for backward", counts.values,
                                 kNumberBits))
    return reason;
  return why_too_many("devices", counts.devices, kDeviceBits);
}

}  // namespace troika
