#include "kernels/cpu/epilogue.h"

namespace troika {

std::optional<Tail> tail_of(const KernelKey& key, std::size_t channel_dim) {
  Tail tail;
  std::int64_t rank = static_cast<std::int64_t>(key.inputs[0].shape.rank());
  Signature s = signature(key.op, key.inputs);
  const TensorSpec& y = s.slots[static_cast<std::size_t>(s.slots_of(Role::output)[0])].spec;
  // The order is fixed: bias, residual, activation, each at most once.
  for (const FusedOp& next : key.fused) {
    if (tail.activation) return std::nullopt;
    if (const Bias* bias = std::get_if<Bias>(&next.op)) {
      std::int64_t dim = bias->dim < 0 ? bias->dim + rank : bias->dim;
      if (tail.bias || tail.residual || dim != static_cast<std::int64_t>(channel_dim))
        return std::nullopt;
      tail.bias = true;
    } else if (const Binary* sum = std::get_if<Binary>(&next.op)) {
      bool fits = sum->kind == BinaryKind::add && next.others[0] == y;
      if (tail.residual || !fits) return std::nullopt;
      tail.residual = true;
    } else if (const Activation* activation = std::get_if<Activation>(&next.op)) {
      tail.activation = *activation;
    } else {
      return std::nullopt;
    }
  }
  return tail;
}

}  // namespace troika
