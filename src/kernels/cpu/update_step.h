// The operands that all update rules share, and the phases of rules that scale a parameter's step
// by norms (LARS, LAMB).
#pragma once

#include <algorithm>
#include <functional>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"
#include "kernels/step_values.h"

namespace troika {

/// The first operands of every update rule; its states follow.
enum UpdateOperands {
  kWeightOperand,
  kGradientOperand,
  kScalarsOperand,
  kControlOperand,
  kStateOperands
};

inline StepValues step_of(const Launch& launch) {
  return {{launch.at<double>(kScalarsOperand), kScalarCount},
          {launch.at<double>(kControlOperand), kControlCount}};
}

struct SquareSums {
  double first = 0, second = 0;
};

struct NormedUpdate {
  /// Partial sums use the launch's scratch.
  std::function<SquareSums(const Launch&, std::int64_t count)> square_sums;
  std::function<void(const Launch&, std::int64_t count, SquareSums)> update;
};

/// The loops of all phases: the whole update, or staged as statistics_1 and apply, whose last
/// operand holds the sums.
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
