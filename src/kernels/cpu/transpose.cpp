#include "kernels/cpu/box.h"
#include "kernels/cpu/offers.h"

namespace troika {

/// A reorder between two descriptions of y: one with the strides that its dimensions have in x.
Offers offers(const Transpose& op, const Request& request) {
  const TensorSpec &x = request.signature.slots[0].spec, &y = request.signature.slots[1].spec;
  Strides in_x = x.shape.strides(), permuted{};
  for (std::size_t dim = 0; dim < y.shape.rank(); ++dim)
    permuted[dim] = in_x[static_cast<std::size_t>(op.permutation[dim])];
  MemoryDesc as_x = describe_strided(y, std::span(permuted).first(y.shape.rank()));
  MemoryDesc as_y =
      describe_strided(y, std::span<const std::int64_t>(y.shape.strides()).first(y.shape.rank()));
  bool forward = request.key.phase == Phase::forward;
  const MemoryDesc &from = forward ? as_x : as_y, &to = forward ? as_y : as_x;
  Offers list;
  for (const Implementation& each : reorder_implementations(request.context.engine, from, to)) {
    Candidate candidate{.algorithm = "reorder", .layouts = {Layout::plain, Layout::plain}};
    list.push_back(offer_primitive(request, candidate, each,
                                   {{DNNL_ARG_FROM, 0, from}, {DNNL_ARG_TO, 1, to}}));
  }
  return list;
}

}  // namespace troika
