#include "kernels/cpu/offers.h"
#include "kernels/cpu/slabs.h"
#include "ops/dim_axes.h"

namespace troika {

/// Operands: forward the parts, then y; backward dy, then the parts.
Offers offers(const Concat& op, const Request& request) {
  bool forward = request.key.phase == Phase::forward;
  std::size_t count = request.key.inputs.size();
  SlabCopy copy{.dim = require_dim("concat", op.dim, request.key.inputs[0]),
                .whole = forward ? count : 0,
                .to_whole = forward};
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < count; ++part) {
    copy.parts.push_back(forward ? part : part + 1);
    copy.begins.push_back(begin);
    begin += request.key.inputs[part].shape[copy.dim];
  }
  return slab_copy_offers(request, copy);
}

}  // namespace troika
