#include "kernels/cpu/offers.h"
#include "kernels/cpu/pooling.h"

namespace troika {

Offers offers(const Pool2d& op, const Request& request) {
  const Shape &x = request.signature.slots[0].spec.shape,
              &y = request.signature.slots[1].spec.shape;
  Offers list;
  for (Layout layout :
       {Layout::blocked16, Layout::channels_last, Layout::plain, Layout::blocked8}) {
    Pooling pooling{.kind = op.kind,
                    .window = op.window,
                    .stride = op.stride,
                    .pad = op.pad,
                    .in = {x[2], x[3]},
                    .out = {y[2], y[3]},
                    .include_padding = op.include_padding,
                    .x = image_view(x, layout),
                    .y = image_view(y, layout)};
    bool is_forward = request.key.phase == Phase::forward;
    if (!is_forward && !pooling_gathers(pooling)) return {};
    int threads = request.context.threads;
    Candidate candidate{.algorithm = "loop",
                        .layouts = std::vector(request.operands.size(), layout),
                        .scratch = is_forward ? pooling_forward_work(pooling, threads)
                                              : pooling_backward_work(pooling, threads)};
    list.push_back(offer_loop(request, candidate,
                              is_forward ? pooling_forward(pooling) : pooling_backward(pooling)));
  }
  return list;
}

}  // namespace troika
