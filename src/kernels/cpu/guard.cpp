#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/reference/reference.h"

namespace troika {

/// A dozen scalar operations: the reference kernel is as fast as any.
Offers offers(const Guard& op, const Request& request) {
  Candidate candidate{.algorithm = "scalar",
                      .layouts = std::vector(request.operands.size(), Layout::plain)};
  Loop loop = [op, signature = request.signature, phase = request.phase](const Launch& launch) {
    run_reference(op, Arguments(signature, phase, launch.operands, launch.position));
  };
  return {offer_loop(request, candidate, loop)};
}

Offers offers(const SquareSum& op, const Request& request) {
  // Padding is zero and adds nothing; the scratch is for the layout that pads most.
  std::int64_t most = 0;
  for (Layout layout : all_layouts(request.shape(0)))
    most = std::max(most, stored_elements(layout, request.shape(0)));
  Offer offer = offer_flat(request, {}, [op](std::int64_t count) -> Loop {
    return [count, copies = static_cast<double>(op.copies)](const Launch& launch) {
      const float* x = launch.at(0);
      *launch.at<double>(1) = sum_elements(
          launch.threads, count, launch.work<double>(),
          [x](std::int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
      *launch.at<double>(1) /= copies;
    };
  });
  offer.candidate.scratch = {8 * sum_blocks(most)};
  return {offer};
}

}  // namespace troika
