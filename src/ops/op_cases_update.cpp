#include "ops/op_cases.h"

namespace troika {

std::vector<OpCase> update_cases() {
  return {
      {"sgd", Sgd{.weight_decay = 0.1}, {f64({5, 3})}},
      {"sgd_momentum", Sgd{.momentum = 0.9, .rate_factor = 0.5}, {f64({7})}},
      {"sgd_nesterov", Sgd{.momentum = 0.9, .nesterov = true}, {f64({4, 3, 2, 2})}},
      {"running_average", RunningAverage{}, {f64({7})}},
      {"running_average_shards", RunningAverage{.momentum = 0.3, .shards = 4}, {f64({5})}},
      {"guard", Guard{}, {f64({1}), f64({1})}, {Fill::normal, Fill::positive}},
      {"guard_clip",
       Guard{.gradient = true, .clip_norm = 0.1},
       {f64({1}), f64({1}), f64({1})},
       {Fill::normal, Fill::positive, Fill::positive}},
      {"square_sum", SquareSum{}, {f64({5, 3})}},
      {"sum", Sum{.count = 3}, {f64({5, 3}), f64({5, 3}), f64({5, 3})}},
      {"reorder", Reorder{}, {f64({2, 3, 4, 5})}},
  };
}

}  // namespace troika
