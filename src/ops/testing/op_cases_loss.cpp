#include "ops/testing/op_cases.h"

namespace troika {

std::vector<OpCase> loss_cases() {
  std::vector<Fill> weighted{Fill::normal, Fill::positive, Fill::positive};
  std::vector<Fill> padded{Fill::normal, Fill::normal, Fill::mask};
  return {
      {"sigmoid_cross_entropy",
       SigmoidCrossEntropy{},
       {f64({5, 3}), f64({5, 3}), f64({5})},
       weighted},
      {"sigmoid_cross_entropy_one_target",
       SigmoidCrossEntropy{},
       {f64({5, 1, 2, 3}), f64({5}), f64({5})},
       padded},
      {"mean_error", MeanError{}, {f64({3, 2, 4}), f64({3, 2, 4}), f64({3})}, weighted},
      {"mean_error_one_target", MeanError{}, {f64({7}), f64({7}), f64({7})}, padded},
      {"mean_error_absolute",
       MeanError{.penalty = Penalty::absolute},
       {f64({5, 3}), f64({5, 3}), f64({5})},
       weighted},
      {"mean_error_absolute_one_target",
       MeanError{.penalty = Penalty::absolute},
       {f64({4, 3}), f64({4}), f64({4})},
       padded},
      {"accuracy", Accuracy{}, {f64({7, 3}), i32({7}), f64({7})}, weighted},
      {"accuracy_top2", Accuracy{.top = 2}, {f64({7, 3}), i32({7}), f64({7})}, weighted},
      {"accuracy_tokens", Accuracy{}, {f64({3, 5, 2}), i32({3, 5}), f64({3, 5})}, padded},
  };
}

}  // namespace troika
