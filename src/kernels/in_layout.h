// One host tensor held in some layout.
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
  /// `guard` is what the bytes behind the tensor hold.
  InLayout(const TensorSpec& spec, Layout layout, std::byte guard = std::byte{0xff})
      : element_(static_cast<std::size_t>(size_of(spec.dtype).count)),
        plain_size_(static_cast<std::size_t>(spec.bytes().count)),
        size_(static_cast<std::size_t>(stored_bytes(layout, spec.shape, spec.dtype).count)),
        guard_(guard),
        memory_(new (std::align_val_t{64}) std::byte[size_ + kGuard]()) {
    if (layout != Layout::plain) places_ = element_offsets(layout, spec.shape);
    std::fill_n(memory_.get() + size_, kGuard, guard_);
  }

  /// Takes plain bytes in; returns where they lie in the layout. Padding becomes zero.
  DevicePointer load(std::span<const std::byte> plain) {
    TROIKA_CHECK_EQ(plain.size(), plain_size_);
    if (places_.empty()) {
      std::ranges::copy(plain, memory_.get());
      return memory_.get();
    }
    fill(std::byte{});
    for_each_element(
        [&](std::byte* held, std::size_t at) { std::memcpy(held, &plain[at], element_); });
    return memory_.get();
  }
  /// Fills the tensor and its padding with one byte.
  DevicePointer fill(std::byte value) {
    std::fill_n(memory_.get(), size_, value);
    return memory_.get();
  }
  void store(std::span<std::byte> plain) const {
    TROIKA_CHECK_EQ(plain.size(), plain_size_);
    if (places_.empty())
      std::copy_n(memory_.get(), plain.size(), plain.begin());
    else
      for_each_element(
          [&](const std::byte* held, std::size_t at) { std::memcpy(&plain[at], held, element_); });
  }
  /// Whether somebody wrote behind the tensor.
  bool is_overrun() const {
    return std::any_of(memory_.get() + size_, memory_.get() + size_ + kGuard,
                       [&](std::byte byte) { return byte != guard_; });
  }

 private:
  static constexpr std::size_t kGuard = 4096;

  struct Free {
    void operator()(std::byte* memory) const { operator delete[](memory, std::align_val_t{64}); }
  };

  /// Visits each element where it is held, with the position of its first plain byte.
  void for_each_element(const auto& visit) const {
    for (std::size_t at = 0; at < places_.size(); ++at)
      visit(memory_.get() + static_cast<std::size_t>(places_[at]) * element_, at * element_);
  }

  std::size_t element_, plain_size_, size_;
  std::byte guard_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<std::int64_t> places_;  // of the elements; empty for the plain layout
};

}  // namespace troika
