#include "profile/rates.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/error.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

/// Launches one kernel a few times on the device's own thread and keeps the shortest time.
class Stopwatch final : public Work {
 public:
  Stopwatch(Device& device, const Backend& backend, const KernelKey& key)
      : backend_(backend), key_(key) {
    std::vector<Candidate> candidates = backend.candidates(key);
    TROIKA_CHECK(!candidates.empty(), "no kernel for " + to_text(key));
    candidate_ = candidates.front();
    for (const Operand& operand : operands_of(key)) {
      Layout layout = candidate_.layouts[buffers_.size()];
      buffers_.push_back(
          device.allocate(stored_bytes(layout, operand.spec.shape, operand.spec.dtype)));
      operands_.push_back(buffers_.back().address());
    }
    scratch_ = device.allocate(candidate_.scratch);
    Event done;
    device.submit(*this, done);
    done.wait();
  }

  void run() override {
    constexpr int kRepeats = 7;
    auto kernel = backend_.compile(key_, candidate_);
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      auto start = Clock::now();
      kernel->launch(operands_, scratch_.address());
      seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - start).count());
    }
  }

  double seconds = std::numeric_limits<double>::infinity();

 private:
  const Backend& backend_;
  KernelKey key_;
  Candidate candidate_;
  std::vector<Buffer> buffers_;
  Buffer scratch_;
  std::vector<DevicePointer> operands_;
};

}  // namespace

DeviceSpec measure_rates(Device& device, const Backend& backend, DeviceSpec spec) {
  // The reference kernels are a thousand times slower; they get a small matrix.
  std::int64_t size = backend.name() == "reference" ? 96 : 512;
  KernelKey product{Linear{.out = size}, {{{size, size}, DType::f32}}, Phase::forward, {}};
  TensorSpec vector{{backend.name() == "reference" ? 1 << 18 : 1 << 23}, DType::f32};
  KernelKey sum{Sum{.count = 2}, {vector, vector}, Phase::forward, {}};
  spec.flops_per_second =
      static_cast<double>(flops_of(product).count) / Stopwatch(device, backend, product).seconds;
  spec.bytes_per_second =
      static_cast<double>(bytes_of(sum).count) / Stopwatch(device, backend, sum).seconds;
  return spec;
}

}  // namespace troika
