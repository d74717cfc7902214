// The input projection of a recurrent layer, p[n,t,g,u] = sum over i of w[g,u,i] * x[n,t,i]: the
// part of its gates that does not depend on the state, for all steps at once. A Linear whose
// outputs are gates and units, so that units can be split.
#pragma once

#include <span>

#include "ops/linear.h"
#include "ops/recurrent.h"

namespace troika {

struct GateProjection {
  static constexpr std::string_view kName = "gate_projection";
  RecurrentKind kind = RecurrentKind::lstm;
  std::int64_t hidden = 0;

  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("hidden", self.hidden);
  }
  bool operator==(const GateProjection&) const = default;
};

/// Input x [n, t, i], weight w_ih [G, h, i], output p [n, t, G, h]. Axes n, t, u (hidden units) and
/// i (a reduction).
Signature signature(const GateProjection& op, std::span<const TensorSpec> inputs);
GateProjection localize(const GateProjection& op, const Signature& signature, const Region& tile);

/// The same computation on the same memory, phase by phase, with slots in the same order.
Linear as_linear(const GateProjection& op);

}  // namespace troika
