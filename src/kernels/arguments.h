// The operands of a launch, addressed by slot as the operator's signature names them. Plain layouts
// only.
#pragma once

#include <span>

#include "base/error.h"
#include "device/device.h"
#include "ops/signature.h"

namespace troika {

class Arguments {
 public:
  Arguments(const Signature& signature, const PhaseSpec& phase,
            std::span<const DevicePointer> operands, std::span<const std::int64_t> tile)
      : position(tile), signature_(signature), phase_(phase), operands_(operands) {
    TROIKA_CHECK_EQ(operands.size(), phase.uses.size());
  }

  Phase phase() const { return phase_.phase; }
  const Shape& shape(int slot) const { return spec(slot).shape; }
  const TensorSpec& spec(int slot) const {
    return signature_.slots[static_cast<std::size_t>(slot)].spec;
  }
  const Signature& signature() const { return signature_; }

  /// The elements of a slot's value, or of its gradient.
  template <class T>
  std::span<T> value(int slot) const {
    return elements<T>(slot, false);
  }
  template <class T>
  std::span<T> gradient(int slot) const {
    return elements<T>(slot, true);
  }

  /// Where the tile lies, in the order of the operator's tile_position().
  const std::span<const std::int64_t> position;

 private:
  template <class T>
  std::span<T> elements(int slot, bool gradient) const {
    for (std::size_t at = 0; at < phase_.uses.size(); ++at) {
      const Use& use = phase_.uses[at];
      if (use.slot == slot && use.gradient == gradient)
        return {reinterpret_cast<T*>(operands_[at]),
                static_cast<std::size_t>(shape(slot).elements())};
    }
    throw Bug("the phase does not use this slot");
  }

  const Signature& signature_;
  const PhaseSpec& phase_;
  std::span<const DevicePointer> operands_;
};

}  // namespace troika
