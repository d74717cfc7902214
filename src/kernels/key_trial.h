// A kernel key with made-up operands and the results that the reference computes for them in f64:
// what a candidate is held against before it is used.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/op_trial.h"

namespace troika {

/// One per operand of the key.
struct KeyTrial {
  KernelKey key;
  std::vector<Operand> operands;
  std::vector<HostTensor> given;     ///< Before the launch, in the operand's element type.
  std::vector<HostTensor> expected;  ///< After the launch, in f64.
  /// Allowed besides tolerance(): steps of a recurrent layer feed on each other's rounding, so what
  /// the reference loses in f32 says by how much.
  double rounding = 0;
};

/// Values that backward phases read are those that the forward ones compute from the inputs.
KeyTrial make_trial(const KernelKey& key);

/// Launches the candidate twice on differently poisoned outputs and scratch, and once more for each
/// operand that it may write in place. Returns what is wrong: the distance from the reference,
/// different results, or writes past a buffer; empty when nothing is. Runs on the calling thread,
/// in host memory.
std::string find_fault(const KeyTrial& trial, const Backend& backend, const Candidate& candidate);

}  // namespace troika
