// Both halves of a message count rounds. A side announces a round by storing its number in a flag,
// and the other side polls for that number; no lock is taken after preparation.
#include "comm/threads/thread_transport.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "comm/threads/mailbox.h"

namespace troika {

/// One side's share in a mailbox, given up at the end.
class MailboxHalf {
 public:
  MailboxHalf(ThreadTransport& transport, ThreadTransport::Key key, std::size_t bytes, bool sends)
      : transport_(transport), key_(key), mailbox_(transport.take_half(key, bytes, sends)) {}
  MailboxHalf(const MailboxHalf&) = delete;
  MailboxHalf& operator=(const MailboxHalf&) = delete;
  ~MailboxHalf() { transport_.leave_half(key_, *mailbox_); }

  Mailbox& operator*() const { return *mailbox_; }
  Mailbox* operator->() const { return mailbox_.get(); }

 private:
  ThreadTransport& transport_;
  const ThreadTransport::Key key_;
  const std::shared_ptr<Mailbox> mailbox_;  // shared by the two halves
};

namespace {

/// A long message or a loan: the receiver reads the sender's memory in place.
class OutgoingMemory final : public Outgoing {
 public:
  template <class Key>
  OutgoingMemory(ThreadTransport& transport, const Key& key, std::span<std::byte> bytes)
      : half_(transport, key, bytes.size(), true) {
    half_->memory = bytes.data();
  }
  void start() override {
    // Release: a receiver that sees the round also sees the bytes, which it reads in place.
    half_->sent.store(++round_, std::memory_order_release);
    half_->receiver_doorbell.ring();
  }
  bool done() override { return half_->taken.load(std::memory_order_acquire) == round_; }

 private:
  const MailboxHalf half_;
  std::uint32_t round_ = 0;
};

class IncomingMemory final : public Incoming {
 public:
  template <class Key>
  IncomingMemory(ThreadTransport& transport, const Key& key, std::size_t bytes)
      : half_(transport, key, bytes, false) {}
  void start() override { ++round_; }
  std::byte* arrived() override {
    // Equality is enough: the sender starts no further round before this one was taken.
    return half_->sent.load(std::memory_order_acquire) == round_ ? half_->memory : nullptr;
  }
  void finish() override {
    half_->taken.store(round_, std::memory_order_release);
    half_->sender_doorbell.ring();
  }

 private:
  const MailboxHalf half_;
  std::uint32_t round_ = 0;
};

/// A short message. Done as soon as the bytes are in a slot, which the receiver has usually emptied
/// several rounds ago.
class OutgoingCopy final : public Outgoing {
 public:
  template <class Key>
  OutgoingCopy(ThreadTransport& transport, const Key& key, std::span<const std::byte> bytes)
      : half_(transport, key, bytes.size(), true), bytes_(bytes) {}
  void start() override {
    ++round_;
    posted_ = false;
    post();
  }
  bool done() override {
    if (!posted_) post();
    return posted_;
  }

 private:
  void post() {
    // The slot is free if the receiver has taken the message that was in it kSlots rounds ago.
    // Unsigned differences stay right when the counters wrap around.
    if (round_ - taken_ > Mailbox::kSlots) {
      taken_ = half_->taken.load(std::memory_order_acquire);
      if (round_ - taken_ > Mailbox::kSlots) return;
    }
    if (!bytes_.empty()) std::memcpy(half_->slot(round_), bytes_.data(), bytes_.size());
    half_->slot_flag(round_).store(round_, std::memory_order_release);
    half_->receiver_doorbell.ring();
    posted_ = true;
  }

  const MailboxHalf half_;
  const std::span<const std::byte> bytes_;
  std::uint32_t round_ = 0;
  std::uint32_t taken_ =
      0;  // the receiver's flag when it was read last; reading costs a cache miss
  bool posted_ = true;
};

/// Reads the message in its slot, without a second copy. It learns of a message by the slot's flag,
/// not by `sent`: flag and bytes share a cache line.
class IncomingCopy final : public Incoming {
 public:
  template <class Key>
  IncomingCopy(ThreadTransport& transport, const Key& key, std::size_t bytes)
      : half_(transport, key, bytes, false) {}
  void start() override { ++round_; }
  std::byte* arrived() override {
    bool is_full = half_->slot_flag(round_).load(std::memory_order_acquire) == round_;
    return is_full ? half_->slot(round_) : nullptr;
  }
  void finish() override {
    half_->taken.store(round_, std::memory_order_release);
    half_->sender_doorbell.ring();
  }

 private:
  const MailboxHalf half_;
  std::uint32_t round_ = 0;
};

}  // namespace

ThreadTransport::ThreadTransport() = default;
ThreadTransport::~ThreadTransport() = default;

std::unique_ptr<Outgoing> ThreadTransport::prepare_send(const MessageAddress& address,
                                                        std::span<const std::byte> bytes) {
  Key key{address, false};
  if (bytes.size() <= Mailbox::kLargestCopy)
    return std::make_unique<OutgoingCopy>(*this, key, bytes);
  // Only a borrower would write through it, and this is not a loan.
  std::span<std::byte> memory{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return std::make_unique<OutgoingMemory>(*this, key, memory);
}

std::unique_ptr<Incoming> ThreadTransport::prepare_receive(const MessageAddress& address,
                                                           std::span<std::byte> buffer) {
  Key key{address, false};
  if (buffer.size() <= Mailbox::kLargestCopy)
    return std::make_unique<IncomingCopy>(*this, key, buffer.size());
  return std::make_unique<IncomingMemory>(*this, key, buffer.size());
}

std::unique_ptr<Outgoing> ThreadTransport::prepare_lend(const MessageAddress& address,
                                                        std::span<std::byte> memory) {
  return std::make_unique<OutgoingMemory>(*this, Key{address, true}, memory);
}

std::unique_ptr<Incoming> ThreadTransport::prepare_borrow(const MessageAddress& address,
                                                          std::size_t bytes) {
  return std::make_unique<IncomingMemory>(*this, Key{address, true}, bytes);
}

Doorbell* ThreadTransport::doorbell(DeviceId device) {
  Lock lock(mutex_);
  return &doorbell_of(device);
}

Doorbell& ThreadTransport::doorbell_of(DeviceId device) {
  std::unique_ptr<Doorbell>& doorbell = doorbells_[device];
  if (!doorbell) {
    doorbell = std::make_unique<Doorbell>();
    local_devices_.fetch_add(1);
  }
  return *doorbell;
}

// Sleeping devices are woken; they then call progress, which throws.
void ThreadTransport::fail(const std::string& reason, int) {
  Lock lock(mutex_);
  if (has_failed_.load(std::memory_order_relaxed)) return;
  failure_ = reason;
  has_failed_.store(true, std::memory_order_release);
  for (const auto& [device, doorbell] : doorbells_) doorbell->ring();
}

void ThreadTransport::throw_failure() {
  Lock lock(mutex_);
  throw Error(ErrorKind::peer, failure_);
}

std::shared_ptr<Mailbox> ThreadTransport::take_half(const Key& key, std::size_t bytes, bool sends) {
  Lock lock(mutex_);
  const auto& [from, to, tag] = key.address;
  std::shared_ptr<Mailbox>& mailbox = mailboxes_[key];
  if (!mailbox) {
    // Whichever half comes first creates the mailbox; both derive the same `copies` from the size.
    bool copies = !key.is_loan && bytes <= Mailbox::kLargestCopy;
    mailbox = std::make_shared<Mailbox>(bytes, copies, doorbell_of(from), doorbell_of(to));
  }
  bool& is_taken = sends ? mailbox->has_sender : mailbox->has_receiver;
  TROIKA_CHECK(!is_taken, fmt::format("device {} to {}, tag {}: {} prepared twice", from.value,
                                      to.value, tag, sends ? "sent" : "received"));
  TROIKA_CHECK(mailbox->size == bytes,
               fmt::format("device {} to {}, tag {}: one half has {} bytes, the other {}",
                           from.value, to.value, tag, mailbox->size, bytes));
  is_taken = true;
  return mailbox;
}

/// The half that is destroyed first takes the address with it, so that a new pair never meets an
/// old half. A sender may go before its receiver has come: then the message waits.
void ThreadTransport::leave_half(const Key& key, Mailbox& mailbox) {
  Lock lock(mutex_);
  auto found = mailboxes_.find(key);
  if (mailbox.has_sender && !mailbox.has_receiver && mailbox.holds_message()) return;
  if (found != mailboxes_.end() && found->second.get() == &mailbox) mailboxes_.erase(found);
}

}  // namespace troika
