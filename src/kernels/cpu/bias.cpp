#include "kernels/cpu/channel_sums.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

Loop add_bias(const ChannelView& view) {
  return [view](const Launch& launch) {
    // Padding is written too and must stay zero, so the bias is padded like the layout.
    const float *x = launch.at(0), *bias = pad_channels(view, launch.at(1), launch.work());
    float* y = launch.at(2);
    for_channels(launch.threads, view, {view, y, x == y},
                 [=](std::int64_t i, std::int64_t channel) { return x[i] + bias[channel]; });
  };
}

Loop sum_channels(const ChannelView& view) {
  return [view](const Launch& launch) {
    const float* dy = launch.at(0);
    float* dbias = launch.at(1);
    double* sums = launch.work<double>();
    channel_sums(
        view, launch.threads, sums, [dy](std::int64_t i, std::int64_t) { return dy[i]; }, NoTerm());
    run_range(0, view.channels, [=](std::int64_t i) { dbias[i] = static_cast<float>(sums[i]); });
  };
}

}  // namespace

Offers offers(const Bias& op, const Request& request) {
  const Shape& shape = request.shape(0);
  std::int64_t dim = op.dim < 0 ? op.dim + static_cast<std::int64_t>(shape.rank()) : op.dim;
  bool is_forward = request.key.phase == Phase::forward;
  Offers list;
  for (Layout layout : activation_layouts(shape)) {
    std::optional<ChannelView> view = channel_view(shape, layout, static_cast<std::size_t>(dim));
    if (!view) continue;
    Candidate candidate{.algorithm = "loop"};
    if (is_forward) {
      candidate.layouts = {layout, Layout::plain, layout};
      candidate.in_place = {{2, 0}};
      candidate.scratch = {4 * view->padded()};
    } else {
      candidate.layouts = {layout, Layout::plain};
      candidate.scratch = {8 * channel_sum_doubles(*view, request.context.threads)};
    }
    list.push_back(
        offer_loop(request, candidate, is_forward ? add_bias(*view) : sum_channels(*view)));
  }
  return list;
}

}  // namespace troika
