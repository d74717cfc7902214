// Messages between devices of one process. The receiver reads the sender's memory; only short
// messages are copied on the way.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "comm/transport.h"

namespace troika {

struct Mailbox;

class ThreadTransport final : public Transport {
 public:
  ThreadTransport();
  ~ThreadTransport() override;

  /// Throws Bug when the two halves differ in size, or one is prepared twice.
  std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                         std::span<const std::byte> bytes) override;
  std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                            std::span<std::byte> buffer) override;
  std::unique_ptr<Outgoing> prepare_lend(const MessageAddress& address,
                                         std::span<std::byte> memory) override;
  std::unique_ptr<Incoming> prepare_borrow(const MessageAddress& address,
                                           std::size_t bytes) override;
  bool shares_memory(DeviceId, DeviceId) const override { return true; }
  Doorbell* doorbell(DeviceId device) override;
  int local_devices() const override { return local_devices_.load(std::memory_order_relaxed); }
  void progress() override {
    if (has_failed_.load(std::memory_order_acquire)) throw_failure();
  }

  void fail(const std::string& reason, int exit_code) override;

 private:
  friend class MailboxHalf;
  struct Key {
    MessageAddress address;
    bool is_loan;
    auto operator<=>(const Key&) const = default;
  };

  std::shared_ptr<Mailbox> take_half(const Key& key, std::size_t bytes, bool sends);
  void leave_half(const Key& key, Mailbox& mailbox);
  Doorbell& doorbell_of(DeviceId device) TROIKA_REQUIRES(mutex_);
  [[noreturn]] void throw_failure();

  std::atomic<int> local_devices_{0};  // with a doorbell
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  std::map<Key, std::shared_ptr<Mailbox>> mailboxes_ TROIKA_GUARDED_BY(mutex_);
  std::map<DeviceId, std::unique_ptr<Doorbell>> doorbells_ TROIKA_GUARDED_BY(mutex_);
  std::string failure_ TROIKA_GUARDED_BY(mutex_);  // written before has_failed_
};

}  // namespace troika
