#include "kernels/cpu/offers.h"
#include "kernels/cpu/slabs.h"
#include "ops/dim_axes.h"

namespace troika {

/// Operands: forward x, y; backward dy, dx, which is zero outside.
Offers offers(const SliceTensor& op, const Request& request) {
  bool forward = request.key.phase == Phase::forward;
  return slab_copy_offers(request, {.dim = require_dim("slice", op.dim, request.key.inputs[0]),
                                    .whole = forward ? 0u : 1u,
                                    .parts = {forward ? 1u : 0u},
                                    .begins = {op.begin},
                                    .to_whole = !forward,
                                    .clear = !forward});
}

}  // namespace troika
