// What a kernel must compute, as a value: the key of a KernelTable row (design section 4).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace troika {

/// An operator fused behind another: it takes the previous one's output as its first input, and
/// these others.
struct FusedOp {
  Op op;
  std::vector<TensorSpec> others;  ///< Its further inputs (its weights follow from the signature).

  bool operator==(const FusedOp&) const = default;
};

struct KernelKey {
  Op op;                           ///< Localized to the tile.
  std::vector<TensorSpec> inputs;  ///< Of the tile.
  Phase phase = Phase::forward;
  std::vector<FusedOp> fused;  ///< Forward only.

  bool operator==(const KernelKey&) const = default;
};

/// One buffer that a kernel is launched with.
struct Operand {
  std::string name;
  TensorSpec spec;
  Access access = Access::read;
};

/// In launch order: the uses of the phase; with fused operators, what they read besides comes next,
/// and the last operator's output takes the place of the first one's, at the end.
std::vector<Operand> operands_of(const KernelKey& key);

Flops flops_of(const KernelKey& key);
Bytes bytes_of(const KernelKey& key);

/// One line, stable across machines; equal keys have equal text.
std::string to_text(const KernelKey& key);

}  // namespace troika
