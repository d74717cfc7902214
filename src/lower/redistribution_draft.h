// Internal to redistribution: builds the result. Steps are added after those that they depend on;
// finish() computes their moments and the final order.
#pragma once

#include <span>
#include <vector>

#include "lower/redistribution.h"

namespace troika::redistribution {

/// From a packed pair of numbers to a number. Keys are never removed.
class PairMap {
 public:
  static std::uint64_t key(std::int32_t high, std::int32_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  }

  /// The value of the key, which is `value` if the key is new.
  std::int32_t& find_or_add(std::uint64_t key, std::int32_t value);
  /// Null: not there.
  const std::int32_t* find(std::uint64_t key) const;
  void reserve(std::size_t count);
  void clear();

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t value = 0;
    bool used = false;
  };
  std::size_t slot_of(std::uint64_t key) const;

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

/// A box of the tensor in the memory of a device.
struct Held {
  std::int32_t device = 0, box = 0, buffer = 0;
};

/// The terms of a sum, one behind the other. Those of a sum of one are the value itself.
struct Terms {
  std::vector<Held> held;
  std::vector<std::int32_t> ends;  ///< By term.
  std::vector<std::int32_t> from;  ///< By term: the contribution that has it, or the first one.

  std::int32_t size() const { return static_cast<std::int32_t>(ends.size()); }
  std::int32_t begin(std::int32_t term) const { return term == 0 ? 0 : ends[term - 1]; }
  std::span<const Held> operator[](std::int32_t term) const {
    return std::span(held).subspan(begin(term), ends[term] - begin(term));
  }
  /// Ends the term that was appended to `held`; a term that holds nothing is none.
  void close_term(std::int32_t contribution) {
    auto end = static_cast<std::int32_t>(held.size());
    if (end == begin(size())) return;
    ends.push_back(end);
    from.push_back(contribution);
  }
};

/// A box that a device lacks.
struct Need {
  std::int32_t device = 0, box = 0;
  std::int32_t tile = 0;     ///< The first of the reader that needs it.
  std::int32_t ordinal = 0;  ///< Among the reader's tiles with this box.
  bool is_only = true;       ///< No other tile of the reader needs any of its elements.
  std::int32_t buffer = -1;  ///< -1: not met yet.
};

/// What a device does first within one round: it hands over, gets back, puts together.
enum class Phase : std::uint8_t { prepare, finish, assemble };

/// Where a step stands among those of its device in one round. `local` is compared between steps of
/// one device only, and made so that devices that do the same have the same order.
struct Turn {
  Phase phase = Phase::prepare;
  std::uint64_t local = 0;
};

class Draft {
 public:
  Draft(const RedistributionRequest& asked, const Neighbourhood& neighbourhood);

  /// A new buffer of this box.
  std::int32_t add_buffer(PlacedBuffer::Kind kind, std::int32_t device, std::int32_t box);
  std::int32_t add_vector(std::int32_t device, std::int32_t box, std::int64_t count);
  std::int32_t add_block(std::int32_t vector, std::int32_t box, std::int64_t offset);

  /// The inputs are those that were added since the last step.
  void add_input(std::int32_t buffer, std::int32_t box);
  void add_step(Step::Kind kind, std::int32_t out, Turn turn);
  /// A new buffer with a copy of the box out of another buffer.
  std::int32_t add_copy(std::int32_t from, std::int32_t box, Turn turn);

  /// Makes room for so many messages and members of them, each with a buffer and its calls.
  void reserve_calls(std::size_t messages, std::size_t members);
  /// Members follow by add_member, then the steps of all of them by add_calls.
  std::int32_t add_message(Collective kind, std::int64_t count, std::span<const Range> blocks = {});
  /// `local` orders the message among those of the device.
  void add_member(std::int32_t buffer, std::uint64_t local);
  void add_calls();

  /// Whether the buffer may be overwritten by its sum.
  bool is_free(std::int32_t buffer) const;
  /// Somebody reads the buffer as it is now.
  void mark_used(std::int32_t buffer) { used_[buffer] = true; }

  /// Steps from here on come behind those so far, at equal moments.
  void begin_round() { ++round_; }
  void set_reader(std::int32_t reader) { moment_ = contributions_ + reader; }
  /// Steps from here on are done as soon as their inputs are there.
  void set_at_once() { moment_ = -1; }

  const PlacedBuffer& buffer(std::int32_t id) const { return buffers_[id]; }
  std::int32_t process_of(std::int32_t device) const { return place(where.process, device); }
  std::int32_t node_of(std::int32_t device) const { return place(where.node, device); }

  /// The answer; `reads` are buffers of this draft.
  Redistribution finish(std::vector<std::vector<std::int32_t>> reads) &&;

  const RedistributionRequest& request;
  const Neighbourhood& where;
  BoxTable boxes;
  std::int32_t devices = 0;  ///< All are below.

 private:
  static std::int32_t place(std::span<const std::int32_t> places, std::int32_t device) {
    return places.empty() ? 0 : places[device];
  }
  void find_moments();
  void mark_layered();
  std::vector<bool> find_hurried() const;
  void mark_start(Message& message, std::vector<std::int32_t>& since);
  std::int32_t root(std::int32_t id) const;
  void order_steps();
  std::vector<std::int32_t> number_buffers();
  void move_inputs();

  std::int32_t contributions_ = 0, moment_ = 0;
  std::uint64_t round_ = 0;
  std::vector<PlacedBuffer> buffers_;
  std::vector<bool> used_;  // by buffer
  std::vector<Step> steps_;
  std::vector<std::uint64_t> turns_;  // by step: round, phase, local
  std::vector<StepInput> inputs_;
  std::int32_t first_input_ = 0;
  std::vector<Message> messages_;
  std::vector<MessageMember> members_;
  std::vector<std::uint64_t> locals_;  // by member
  std::vector<Range> ranges_;
};

}  // namespace troika::redistribution
