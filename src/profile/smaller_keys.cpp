#include "profile/smaller_keys.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.h"

namespace troika {
namespace {

/// A check of this much work takes about a millisecond with the reference loops.
constexpr std::int64_t kEnoughWork = 2'000'000;
/// Drawing, converting and comparing an element costs about as much as this many operations.
constexpr std::int64_t kWorkPerElement = 30;

std::int64_t work_of(const KernelKey& key) {
  std::int64_t elements = 0;
  for (const Operand& operand : operands_of(key)) elements += operand.spec.shape.elements();
  return flops_of(key).count + kWorkPerElement * elements;
}

/// Attributes that are extents, as those of tensors are.
void for_each_extent(Op& op, const auto& visit) {
  if (auto* linear = std::get_if<Linear>(&op)) visit(linear->out);
  if (auto* recurrent = std::get_if<Recurrent>(&op)) {
    visit(recurrent->hidden);
    visit(recurrent->units);
    visit(recurrent->sequence);
  }
  if (auto* projection = std::get_if<GateProjection>(&op)) visit(projection->hidden);
  if (auto* transposed = std::get_if<ConvTranspose2d>(&op)) visit(transposed->out);
  if (auto* conv = std::get_if<Conv2d>(&op)) {
    visit(conv->out);
    if (conv->groups > 1) visit(conv->groups);
  }
  if (auto* embedding = std::get_if<Embedding>(&op)) {
    visit(embedding->vocabulary);
    visit(embedding->width);
  }
}

void for_each_extent(KernelKey& key, const auto& visit) {
  auto visit_all = [&](std::vector<TensorSpec>& specs) {
    for (TensorSpec& spec : specs)
      for (std::size_t dim = 0; dim < spec.shape.rank(); ++dim) visit(spec.shape[dim]);
  };
  for_each_extent(key.op, visit);
  visit_all(key.inputs);
  for (FusedOp& next : key.fused) {
    for_each_extent(next.op, visit);
    visit_all(next.others);
  }
}

/// The stride without its factors of two, which a block of 16 contains already.
std::int64_t odd_part(std::int64_t stride) {
  while (stride > 0 && stride % 2 == 0) stride /= 2;
  return std::max<std::int64_t>(stride, 1);
}

/// Sides of images also keep their remainders by the strides, because kernels depend on whether
/// windows cover an image evenly. 0 if the operator has no windows.
std::int64_t side_block(const Op& op) {
  auto of = [](const auto& stride) {
    return 16 * std::lcm(odd_part(stride[0]), odd_part(stride[1]));
  };
  if (const auto* conv = std::get_if<Conv2d>(&op)) return of(conv->stride);
  if (const auto* pool = std::get_if<Pool2d>(&op)) return of(pool->stride);
  if (const auto* transposed = std::get_if<ConvTranspose2d>(&op)) return of(transposed->stride);
  return 0;
}

/// Groups of as many channels as before.
bool has_same_groups(const KernelKey& a, const KernelKey& b) {
  const auto *before = std::get_if<Conv2d>(&a.op), *after = std::get_if<Conv2d>(&b.op);
  if (before == nullptr || before->groups == 1) return true;
  return a.inputs[0].shape[1] * after->groups == b.inputs[0].shape[1] * before->groups &&
         before->out * after->groups == after->out * before->groups;
}

/// Batch norm divides by a number of elements that follows from the extents.
void keep_count(const KernelKey& before, KernelKey& after) {
  auto* norm = std::get_if<BatchNorm>(&after.op);
  if (norm == nullptr) return;
  auto elements = [](const KernelKey& key) {
    const Shape& shape = key.inputs[0].shape;
    return shape.elements() / std::max<std::int64_t>(shape[1], 1);
  };
  norm->count = norm->count * elements(after) / elements(before);
}

/// Returns whether the operators accept the changed key with its phase.
bool is_key(const KernelKey& key) {
  try {
    return signature(key.op, key.inputs).find(key.phase) != nullptr && !operands_of(key).empty();
  } catch (const Error&) {
    return false;
  }
}

/// Appends smaller keys, each made from the last, as long as something can shrink.
class Shrinking {
 public:
  explicit Shrinking(const KernelKey& key) : side_block_(side_block(key.op)), keys_{key} {}

  std::vector<KernelKey> run() {
    while (halve_samples()) {
    }
    while (shrink_largest(64)) {
    }
    for (std::int64_t block : {32, 16})
      while (work_of(keys_.back()) > kEnoughWork && shrink_largest(block)) {
      }
    return std::move(keys_);
  }

 private:
  /// The first dimension of tensors that have rows of their own; those of a matrix are extents. In
  /// steps, because some kernels are not offered for few samples.
  bool halve_samples() {
    KernelKey smaller = keys_.back();
    if (smaller.inputs.empty() || smaller.inputs[0].shape.rank() < 3) return false;
    const std::int64_t samples = smaller.inputs[0].shape[0];
    const std::int64_t fewest = std::min(samples, 2 + samples % 2);
    std::int64_t half = samples / 2;
    // Odd stays odd, and even stays even.
    if (half % 2 != samples % 2) ++half;
    auto halve = [&](std::vector<TensorSpec>& specs) {
      for (TensorSpec& spec : specs)
        if (spec.shape.rank() > 0 && spec.shape[0] == samples)
          spec.shape[0] = std::max(half, fewest);
    };
    halve(smaller.inputs);
    for (FusedOp& next : smaller.fused) halve(next.others);
    return take(std::move(smaller));
  }

  bool is_side(std::int64_t extent) const {
    const Shape& image = keys_.back().inputs[0].shape;
    return side_block_ > 0 && (image[2] == extent || image[3] == extent);
  }

  /// Replaces the largest extent of two blocks or more that can change by the one in
  /// [block, 2 block) with the same remainder.
  bool shrink_largest(std::int64_t block) {
    std::set<std::int64_t, std::greater<>> extents;
    KernelKey now = keys_.back();
    for_each_extent(now, [&](std::int64_t extent) { extents.insert(extent); });
    for (std::int64_t largest : extents) {
      std::int64_t unit = is_side(largest) ? side_block_ : block;
      if (largest < 2 * unit) continue;
      KernelKey smaller = keys_.back();
      for_each_extent(smaller, [&](std::int64_t& extent) {
        if (extent == largest) extent = unit + largest % unit;
      });
      if (take(std::move(smaller))) return true;
    }
    return false;
  }

  bool take(KernelKey smaller) {
    keep_count(keys_.back(), smaller);
    // Changing one extent may break a relation to another; then the change is not taken.
    if (smaller == keys_.back() || !is_key(smaller) || !has_same_groups(keys_.back(), smaller))
      return false;
    keys_.push_back(std::move(smaller));
    return true;
  }

  std::int64_t side_block_;
  std::vector<KernelKey> keys_;
};

}  // namespace

std::vector<KernelKey> smaller_keys(const KernelKey& key) { return Shrinking(key).run(); }

}  // namespace troika
