#include "ops/testing/op_cases.h"

namespace troika {

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases{
      {"linear", Linear{.out = 7}, {f64({5, 3})}},
      {"linear_rank_3", Linear{.out = 6}, {f64({3, 4, 5})}},
      {"bias_last", Bias{}, {f64({5, 6})}},
      {"bias_channels", Bias{.dim = 1}, {f64({2, 5, 3, 4})}},
      {"position", Position{}, {f64({3, 4, 5})}},
      {"add", Binary{.kind = BinaryKind::add}, {f64({3, 4, 5}), f64({3, 4, 5})}},
      {"add_broadcast", Binary{.kind = BinaryKind::add}, {f64({3, 4, 5}), f64({4, 1})}},
      {"multiply", Binary{.kind = BinaryKind::multiply}, {f64({6, 5}), f64({6, 5})}},
      {"multiply_broadcast", Binary{.kind = BinaryKind::multiply}, {f64({1, 5}), f64({6, 5})}},
      {"cross_entropy", CrossEntropy{}, {f64({5, 7}), i32({5}), f64({5})}},
      {"cross_entropy_tokens",
       CrossEntropy{},
       {f64({3, 4, 6}), i32({3, 4}), f64({3, 4})},
       {Fill::normal, Fill::normal, Fill::mask}},
  };
  for (std::size_t kind = 0; kind < enum_names(ActivationKind{}).size(); ++kind) {
    Activation op{.kind = static_cast<ActivationKind>(kind)};
    cases.push_back({std::string(enum_names(op.kind)[kind]), op, {f64({4, 3, 5})}});
  }
  return cases;
}

}  // namespace troika
