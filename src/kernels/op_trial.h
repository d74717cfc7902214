// An operator with host tensors for each of its slots, so that tests and profiling can run single
// phases of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "ops/op_case.h"

namespace troika {

/// A tensor in host memory, plain layout.
struct HostTensor {
  TensorSpec spec;
  std::vector<std::byte> bytes;

  explicit HostTensor(const TensorSpec& tensor)
      : spec(tensor), bytes(static_cast<std::size_t>(tensor.bytes().count)) {}
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  double get(std::int64_t element) const;
  void set(std::int64_t element, double value);
};

/// Max over elements of |a - b| / max(1, |largest b|).
double distance(const HostTensor& a, const HostTensor& b);
/// Returns the same values in another element type; integers are not converted.
HostTensor converted(const HostTensor& tensor, DType dtype);

class OpTrial {
 public:
  /// Inputs, weights and output gradients get seeded values; everything else is zero.
  OpTrial(const OpCase& operator_case, std::uint64_t seed);

  /// Runs one phase with the backend's candidate; view phases copy.
  void run(Phase phase, const Backend& backend, const Candidate& candidate);
  /// With the first candidate.
  void run(Phase phase, const Backend& backend);

  KernelKey key(Phase phase) const { return {op, inputs, phase, {}}; }
  HostTensor& tensor(const Use& use) {
    return use.gradient ? gradients[index(use)] : values[index(use)];
  }

  std::string name;
  Op op;
  std::vector<TensorSpec> inputs;
  Signature signature;
  std::vector<std::int64_t> position;  ///< Of all launches.
  std::vector<HostTensor> values;      ///< One per slot.
  std::vector<HostTensor> gradients;   ///< One per slot.

 private:
  static std::size_t index(const Use& use) { return static_cast<std::size_t>(use.slot); }
  void fill(const OpCase& operator_case, std::uint64_t seed);
};

}  // namespace troika
