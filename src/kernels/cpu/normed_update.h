// Update rules that scale a whole parameter's step by norms (LARS, LAMB): two square sums, then the
// update.
#pragma once

#include <algorithm>
#include <functional>

#include "kernels/cpu/layouts.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/update_step.h"

namespace troika {

struct SquareSums {
  double first = 0, second = 0;
};

struct NormedUpdate {
  /// With room for the partial sums in the launch's scratch.
  std::function<SquareSums(const Launch&, std::int64_t count)> square_sums;
  std::function<void(const Launch&, std::int64_t count, SquareSums)> update;
};

/// The loops of all three phases: whole, and staged as statistics_1 and apply, whose last operand
/// holds the sums.
inline Offers normed_update_offers(const Request& request, const NormedUpdate& rule) {
  std::size_t sums_at = request.operands.size() - 1;
  Phase phase = request.key.phase;
  Offer offer = offer_flat(request, {}, [=](std::int64_t count) -> Loop {
    if (phase == Phase::statistics_1)
      return [=](const Launch& launch) {
        SquareSums sums = rule.square_sums(launch, count);
        launch.at<double>(sums_at)[0] = sums.first, launch.at<double>(sums_at)[1] = sums.second;
      };
    if (phase == Phase::apply)
      return [=](const Launch& launch) {
        const double* sums = launch.at<double>(sums_at);
        if (step_of(launch).ok()) rule.update(launch, count, {sums[0], sums[1]});
      };
    return [=](const Launch& launch) {
      if (step_of(launch).ok()) rule.update(launch, count, rule.square_sums(launch, count));
    };
  });
  std::int64_t most = 0;  // the layout is not known yet: room for the one that pads most
  for (Layout layout : all_layouts(request.shape(0)))
    most = std::max(most, stored_elements(layout, request.shape(0)));
  offer.candidate.scratch = {8 * sum_blocks(most)};
  return {offer};
}

}  // namespace troika
