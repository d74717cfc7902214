#include "kernels/cpu/offers.h"
#include "kernels/cpu/slabs.h"
#include "ops/dim_axes.h"

namespace troika {

/// Operands: forward x, then the parts; backward the parts, then dx.
Offers offers(const SplitTensor& op, const Request& request) {
  bool forward = request.key.phase == Phase::forward;
  SlabCopy copy{.dim = require_dim("split", op.dim, request.key.inputs[0]),
                .whole = forward ? 0 : op.sizes.size(),
                .to_whole = !forward};
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < op.sizes.size(); ++part) {
    copy.parts.push_back(forward ? part + 1 : part);
    copy.begins.push_back(begin);
    begin += op.sizes[part];
  }
  return slab_copy_offers(request, copy);
}

}  // namespace troika
