// A compiled kernel with operands and scratch, ready to be launched.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "kernels/kernel.h"

namespace troika {

/// The values of operands do not matter, but must be normal numbers.
class PreparedKernel {
 public:
  PreparedKernel(const Backend& backend, const KernelKey& key, const Candidate& candidate)
      : position_(position_count(key)), kernel_(backend.compile(key, candidate)) {
    std::vector<Operand> list = operands_of(key);
    for (std::size_t at = 0; at < list.size(); ++at)
      operands_.push_back(
          reserve(stored_bytes(candidate.layouts[at], list[at].spec.shape, DType::f32)));
    scratch_ = reserve(candidate.scratch);
  }
  void launch() { kernel_->launch(operands_, scratch_, position_); }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  DevicePointer reserve(Bytes bytes) {
    std::size_t size = (static_cast<std::size_t>(bytes.count) / 64 + 1) * 64;
    auto* memory = static_cast<float*>(std::aligned_alloc(64, size));
    if (memory == nullptr) throw std::bad_alloc();
    std::fill_n(memory, size / sizeof(float), 0.01f);
    held_.emplace_back(memory);
    return reinterpret_cast<DevicePointer>(memory);
  }

  std::vector<std::unique_ptr<float, Free>> held_;
  std::vector<DevicePointer> operands_;
  DevicePointer scratch_ = nullptr;
  std::vector<std::int64_t> position_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace troika
