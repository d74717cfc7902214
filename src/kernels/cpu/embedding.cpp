#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

Loop forward(const Embedding& op, std::int64_t tokens) {
  return [=](const Launch& launch) {
    const std::int32_t* token = launch.at<std::int32_t>(0);
    const float* weight = launch.at(1);
    float* y = launch.at(2);
    std::int64_t first = launch.position[0];
    for_rows(launch.threads, tokens, op.width, [=](std::int64_t at) {
      // Rows of other tiles of the vocabulary give zeros, so that the tiles add up.
      std::int64_t row = token[at] - first;
      float* to = y + at * op.width;
      if (row >= 0 && row < op.vocabulary)
        std::copy_n(weight + row * op.width, op.width, to);
      else
        std::fill_n(to, op.width, 0.0f);
    });
  };
}

/// After clearing, only rows of tokens that occur are touched. Each thread adds all tokens in
/// order, for its own columns, so no two threads write one element.
Loop backward_weight(const Embedding& op, std::int64_t tokens) {
  return [=](const Launch& launch) {
    const std::int32_t* token = launch.at<std::int32_t>(0);
    const float* dy = launch.at(1);
    float* dweight = launch.at(2);
    std::int64_t first = launch.position[0];
    for_outputs(launch.threads, op.vocabulary * op.width, dweight, false,
                [](std::int64_t) { return 0.0f; });
    int threads = tokens * op.width < kSmallLoop ? 1 : launch.threads;
    for_shares(threads, op.width, 16, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = 0; at < tokens; ++at) {
        std::int64_t row = token[at] - first;
        if (row < 0 || row >= op.vocabulary) continue;
        const float* from = dy + at * op.width;
        float* to = dweight + row * op.width;
        run_range(begin, end, [=](std::int64_t i) { to[i] += from[i]; });
      }
    });
  };
}

}  // namespace

Offers offers(const Embedding& op, const Request& request) {
  std::int64_t tokens = request.shape(0).elements();
  Candidate candidate{.algorithm = "loop",
                      .layouts = {Layout::plain, Layout::plain, Layout::plain}};
  bool is_forward = request.key.phase == Phase::forward;
  return {offer_loop(request, candidate,
                     is_forward ? forward(op, tokens) : backward_weight(op, tokens))};
}

}  // namespace troika
