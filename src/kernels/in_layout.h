// One host tensor held in some layout, converted by the backend's own reorder kernel.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace troika {

class InLayout {
 public:
  /// `guard` is what the bytes behind the tensor hold.
  InLayout(const TensorSpec& spec, Layout layout, const Backend& backend,
           std::byte guard = std::byte{0xff})
      : spec_(spec),
        layout_(layout),
        backend_(&backend),
        guard_(guard),
        memory_(new (std::align_val_t{64}) std::byte[size() + kGuard]()) {
    std::fill_n(memory_.get() + size(), kGuard, guard_);
  }

  /// Takes plain bytes in; returns where they lie in the layout.
  DevicePointer load(std::span<const std::byte> plain) {
    convert(Layout::plain, layout_, const_cast<std::byte*>(plain.data()), memory_.get());
    return memory_.get();
  }
  /// Fills the tensor and its padding with one byte.
  DevicePointer fill(std::byte value) {
    std::fill_n(memory_.get(), size(), value);
    return memory_.get();
  }
  void store(std::span<std::byte> plain) {
    convert(layout_, Layout::plain, memory_.get(), plain.data());
  }
  /// Whether somebody wrote behind the tensor.
  bool is_overrun() const {
    return std::any_of(memory_.get() + size(), memory_.get() + size() + kGuard,
                       [&](std::byte byte) { return byte != guard_; });
  }

 private:
  static constexpr std::size_t kGuard = 4096;

  struct Free {
    void operator()(std::byte* memory) const { operator delete[](memory, std::align_val_t{64}); }
  };
  std::size_t size() const {
    return static_cast<std::size_t>(stored_bytes(layout_, spec_.shape, spec_.dtype).count);
  }

  void convert(Layout from, Layout to, DevicePointer source, DevicePointer target) {
    if (from == to) {
      std::copy_n(source, size(), target);
      return;
    }
    KernelKey key{Reorder{from, to}, {spec_}, Phase::forward, {}};
    std::vector<Candidate> candidates = backend_->candidates(key);
    TROIKA_CHECK(!candidates.empty(), "no kernel for " + to_text(key));
    std::vector<std::byte> scratch(static_cast<std::size_t>(candidates[0].scratch.count));
    std::vector<DevicePointer> operands{source, target};
    backend_->compile(key, candidates[0])->launch(operands, scratch.data());
  }

  TensorSpec spec_;
  Layout layout_;
  const Backend* backend_;
  std::byte guard_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace troika
