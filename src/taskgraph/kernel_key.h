// What a kernel must compute, as a value: the key of a KernelTable row
// (docs/design.md, Lowering).
#pragma once

#include <optional>
#include <string>
#include <string_view>
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
  Op op;                           ///< Localized to the tile; where it lies is not part of it.
  std::vector<TensorSpec> inputs;  ///< Of the tile.
  Phase phase = Phase::forward;
  /// The operators behind it that run in the same kernel. In a backward phase: the activation
  /// behind it, whose gradient the kernel takes as it reads dy.
  std::vector<FusedOp> fused;

  bool operator==(const KernelKey&) const = default;
};

/// A row of the kernel table: what a kind of device (DeviceSpec::kind) has to compute.
struct KernelRequest {
  std::string kind;
  KernelKey key;

  bool operator==(const KernelRequest&) const = default;
};

/// One buffer that a kernel is launched with.
struct Operand {
  std::string name;
  TensorSpec spec;
  Access access = Access::read;
};

/// In launch order: the uses of the phase. With fused operators, forward: without its output, then
/// what the others use besides, the last one's output at the end; backward: dy is the gradient of
/// the last output, and what the others' gradients read stands before what is written.
std::vector<Operand> operands_of(const KernelKey& key);

/// The position of a launch of the key: that of its operator (position_of), then those of the fused
/// ones, in their order. Here that of a tile at the origin.
std::vector<std::int64_t> origin_of(const KernelKey& key);
/// How many numbers a position has.
std::size_t position_count(const KernelKey& key);

/// The operand that holds the operator's only output in this phase; -1: none, or several.
int output_operand(const KernelKey& key);
/// The operand that holds the gradient of its only output, read by a backward phase; -1: none.
int output_gradient(const KernelKey& key);

Flops flops_of(const KernelKey& key);
Bytes bytes_of(const KernelKey& key);

/// Equal keys have equal hashes. By fields and without text, to find rows of a table quickly; not
/// stable between versions.
std::uint64_t hash(const KernelKey& key);

/// One line, stable across machines; equal keys have equal text.
std::string to_text(const KernelKey& key);
/// The inverse. Nothing if the text is not a key, or one of another version, whose operator does
/// not fit its inputs.
std::optional<KernelKey> parse_key(std::string_view text);

}  // namespace troika
