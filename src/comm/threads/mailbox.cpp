#include "comm/threads/mailbox.h"

#include <new>

namespace troika {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

Mailbox::Mailbox(std::size_t message_size, bool copies, Doorbell& to_sender, Doorbell& to_receiver)
    : size(message_size),
      sender_doorbell(to_sender),
      receiver_doorbell(to_receiver),
      slot_lines(copies ? (kSlotHeader + message_size + kLine - 1) / kLine : 0),
      slots(slot_lines * kSlots) {
  if (!copies) return;
  for (std::uint32_t round = 0; round < kSlots; ++round)
    // The flag lies in the first line of its slot, so that a short message and its flag arrive in
    // one cache line.
    new (slots[round * slot_lines].bytes) std::atomic<std::uint32_t>(0);
}

std::atomic<std::uint32_t>& Mailbox::slot_flag(std::uint32_t round) {
  std::byte* first = slots[(round % kSlots) * slot_lines].bytes;
  return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(first));
}

bool Mailbox::holds_message() {
  // The first message of all is in this slot, or a later one that has replaced it.
  return slot_lines > 0 && slot_flag(1).load(std::memory_order_relaxed) != 0;
}

std::byte* Mailbox::slot(std::uint32_t round) {
  return slots[(round % kSlots) * slot_lines].bytes + kSlotHeader;
}

}  // namespace troika
