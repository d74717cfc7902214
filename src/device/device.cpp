#include "device/device.h"

#include <utility>

namespace troika {

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (device_ != nullptr) device_->release(address_, bytes_);
}

void Event::wait() {
  Lock lock(mutex_);
  while (!done_) changed_.wait(lock.native());
  // Ready for the next submission.
  done_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Event::signal(std::exception_ptr error) {
  // Under the lock: the waiter may destroy the event as soon as it sees done_.
  Lock lock(mutex_);
  done_ = true;
  error_ = std::move(error);
  changed_.notify_all();
}

}  // namespace troika
