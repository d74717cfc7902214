// A kernel key with made-up operands and the results that the reference computes for them in f64. A
// candidate is compared with them before it is used.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/op_trial.h"

namespace troika {

/// Vectors of operands and tensors have one entry per operand of the key.
struct KeyTrial {
  KernelKey key;
  std::vector<Operand> operands;
  std::vector<HostTensor> given;         ///< Before the launch, in the operand's element type.
  std::vector<HostTensor> expected;      ///< After the launch, in f64.
  std::vector<std::int64_t> position{};  ///< Of all launches.
  /// Allowed in addition to tolerance(): in a recurrent layer rounding errors accumulate over
  /// steps, so the error of the reference in f32 is the measure.
  double rounding = 0;
};

/// Values that backward phases read are computed from the inputs by the forward phases.
KeyTrial make_trial(const KernelKey& key);

/// Launches the candidate twice on differently poisoned outputs and scratch, and once more for each
/// operand that it may write in place. Returns the first fault: the distance from the reference,
/// different results of the two launches, or a write past a buffer. Returns an empty text if there
/// is none. Runs on the calling thread, in host memory.
std::string find_fault(const KeyTrial& trial, const Backend& backend, const Candidate& candidate);

}  // namespace troika
