// The shared state of one message between two threads: a flag for each side, on its own cache line,
// so that a polling thread does not disturb the other. A flag holds the number of the last round
// that its writer has completed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/doorbell.h"
#include "comm/transport.h"

namespace troika {

struct Mailbox {
  /// Bytes of a cache line.
  static constexpr std::size_t kLine = 64;
  /// Messages up to this size are copied into slots, so that the sender does not wait for the
  /// receiver.
  static constexpr std::size_t kLargestCopy = 1024;
  /// Rounds that a sender may be ahead of the receiver.
  static constexpr std::uint32_t kSlots = 4;
  /// Bytes of a slot before the message: the slot's flag.
  static constexpr std::size_t kSlotHeader = 16;

  struct alignas(kLine) Line {
    std::byte bytes[kLine];
  };

  Mailbox(std::size_t size, bool copies, Doorbell& sender_doorbell, Doorbell& receiver_doorbell);
  Mailbox(const Mailbox&) = delete;

  std::byte* slot(std::uint32_t round);
  /// Returns true if a slot holds a message. Not to be called while the sender is at work.
  bool holds_message();
  /// Set to the round when the slot is full.
  std::atomic<std::uint32_t>& slot_flag(std::uint32_t round);

  alignas(kLine) std::atomic<std::uint32_t> sent{0};   // written by the sender
  alignas(kLine) std::atomic<std::uint32_t> taken{0};  // written by the receiver
  // Constant after preparation.
  alignas(kLine) std::byte* memory = nullptr;  // the sender's; written before its first `sent`
  const std::size_t size;
  Doorbell& sender_doorbell;
  Doorbell& receiver_doorbell;
  const std::size_t slot_lines;
  std::vector<Line> slots;
  // Guarded by the transport's mutex.
  bool has_sender = false, has_receiver = false;
};

}  // namespace troika
