// Owns a block of host memory: scratch and receive buffers of operations.
#pragma once

#include <cstddef>
#include <utility>

#include "device/cpu/host_memory.h"

namespace troika {

/// Zeroed, aligned to 64 bytes. Move-only. Throws Error(memory) if the system refuses.
class HostBlock {
 public:
  HostBlock() = default;
  explicit HostBlock(Bytes bytes);
  HostBlock(HostBlock&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)),
        bytes_(std::exchange(other.bytes_, Bytes{})) {}
  HostBlock& operator=(HostBlock&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostBlock() {
    if (address_ != nullptr) release_host_block(address_, bytes_);
  }

  std::byte* address() const { return address_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  Bytes bytes_{};
};

}  // namespace troika
