// A tensor in host memory, stored in a given layout, with guard bytes after it.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "tensor/layout.h"
#include "tensor/tensor_spec.h"

namespace troika {

class InLayout {
 public:
  /// The bytes after the tensor are filled with `guard`.
  InLayout(const TensorSpec& spec, Layout layout, std::byte guard = std::byte{0xff})
      : element_(static_cast<std::size_t>(size_of(spec.dtype).count)),
        plain_size_(static_cast<std::size_t>(spec.bytes().count)),
        size_(static_cast<std::size_t>(stored_bytes(layout, spec.shape, spec.dtype).count)),
        guard_(guard),
        memory_(new (std::align_val_t{64}) std::byte[size_ + kGuard]()) {
    if (layout != Layout::plain) offsets_ = element_offsets(layout, spec.shape);
    std::fill_n(memory_.get() + size_, kGuard, guard_);
  }

  /// Stores plain bytes in the layout and returns their address. Padding becomes zero.
  DevicePointer load(std::span<const std::byte> plain) {
    TROIKA_CHECK_EQ(plain.size(), plain_size_);
    if (offsets_.empty()) {
      std::ranges::copy(plain, memory_.get());
      return memory_.get();
    }
    fill(std::byte{});
    for_each_element(
        [&](std::byte* held, std::size_t at) { std::memcpy(held, &plain[at], element_); });
    return memory_.get();
  }
  /// Fills the tensor and its padding with one byte; returns their address.
  DevicePointer fill(std::byte value) {
    std::fill_n(memory_.get(), size_, value);
    return memory_.get();
  }
  void store(std::span<std::byte> plain) const {
    TROIKA_CHECK_EQ(plain.size(), plain_size_);
    if (offsets_.empty())
      std::copy_n(memory_.get(), plain.size(), plain.begin());
    else
      for_each_element(
          [&](const std::byte* held, std::size_t at) { std::memcpy(&plain[at], held, element_); });
  }
  /// Returns whether the guard bytes were overwritten.
  bool is_overrun() const {
    return std::any_of(memory_.get() + size_, memory_.get() + size_ + kGuard,
                       [&](std::byte byte) { return byte != guard_; });
  }

 private:
  static constexpr std::size_t kGuard = 4096;

  struct Free {
    void operator()(std::byte* memory) const { operator delete[](memory, std::align_val_t{64}); }
  };

  /// Calls visit(address, offset of its first plain byte) for each element.
  void for_each_element(const auto& visit) const {
    for (std::size_t at = 0; at < offsets_.size(); ++at)
      visit(memory_.get() + static_cast<std::size_t>(offsets_[at]) * element_, at * element_);
  }

  std::size_t element_, plain_size_, size_;
  std::byte guard_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<std::int64_t> offsets_;  // of the elements; empty if the layout is plain
};

}  // namespace troika
