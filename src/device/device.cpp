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

}  // namespace troika
