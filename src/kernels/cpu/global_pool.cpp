#include "kernels/cpu/offers.h"
#include "kernels/cpu/pooling.h"

namespace troika {

/// One window over the whole image; y is [n,c] whatever x is.
Offers offers(const GlobalPool& op, const Request& request) {
  const Shape& x = request.signature.slots[0].spec.shape;
  Offers list;
  for (Layout layout :
       {Layout::blocked16, Layout::channels_last, Layout::plain, Layout::blocked8}) {
    Pooling pooling{.kind = op.kind,
                    .window = {x[2], x[3]},
                    .stride = {1, 1},
                    .pad = {0, 0},
                    .in = {x[2], x[3]},
                    .out = {1, 1},
                    .x = image_view(x, layout),
                    .y = {.outer = x[0], .lanes = x[1], .channels = x[1]}};
    Candidate candidate{.algorithm = "loop"};
    for (const Operand& operand : request.operands)
      candidate.layouts.push_back(operand.spec.shape.rank() == 4 ? layout : Layout::plain);
    bool is_forward = request.key.phase == Phase::forward;
    list.push_back(offer_loop(request, candidate,
                              is_forward ? pooling_forward(pooling) : pooling_backward(pooling)));
  }
  return list;
}

}  // namespace troika
