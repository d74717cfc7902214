#include "ops/testing/op_cases.h"

namespace troika {

std::vector<OpCase> update_cases() {
  return {
      {"sgd", Sgd{.weight_decay = 0.1}, {f64({5, 3})}},
      {"sgd_momentum", Sgd{.momentum = 0.9, .rate_factor = 0.5}, {f64({7})}},
      {"sgd_nesterov", Sgd{.momentum = 0.9, .nesterov = true}, {f64({4, 3, 2, 2})}},
      {"adam",
       Adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1},
       {f64({5, 3})}},
      {"adamw", Adam{.weight_decay = 0.1, .decoupled = true, .rate_factor = 0.5}, {f64({7})}},
      {"lars",
       Lars{.momentum = 0.8, .weight_decay = 0.1, .trust = 0.5, .rate_factor = 0.5},
       {f64({5, 3})}},
      {"lamb", Lamb{.weight_decay = 0.1}, {f64({5, 3})}},
      {"lamb_fast",
       Lamb{.beta1 = 0.5, .beta2 = 0.7, .epsilon = 1e-2, .weight_decay = 0.3, .rate_factor = 2},
       {f64({4, 3, 2})}},
      {"running_average", RunningAverage{}, {f64({7})}},
      {"running_average_shards", RunningAverage{.momentum = 0.3, .shards = 4}, {f64({5})}},
      {"guard", Guard{}, {f64({1}), f64({1})}},
      {"guard_clip", Guard{.gradient = true, .clip_norm = 0.1}, {f64({1}), f64({1}), f64({1})}},
      {"square_sum", SquareSum{}, {f64({5, 3})}},
      {"sum", Sum{.count = 3}, {f64({5, 3}), f64({5, 3}), f64({5, 3})}},
      {"reorder", Reorder{}, {f64({2, 3, 4, 5})}},
      // Two halves that overlap in one row, and a corner on top; the last column stays zero.
      {"assemble",
       Assemble{.shape = {3, 5}, .boxes = {0, 0, 2, 4, 1, 0, 2, 4, 2, 2, 1, 2}},
       {f64({2, 4}), f64({3, 6}), f64({1, 2})},
       {},
       {0, 0, 1, 1, 0, 0}},
      {"assemble_greatest",
       Assemble{.shape = {2, 3}, .boxes = {0, 0, 2, 3, 0, 0, 2, 3}, .greatest = true},
       {f64({2, 3}), f64({3, 3})},
       {},
       {0, 0, 1, 0}},
      // Whole rows in one run, and columns, out of the middle of a tensor.
      {"assemble_rows",
       Assemble{.shape = {2, 3, 4}, .boxes = {0, 0, 0, 2, 3, 4}},
       {f64({5, 3, 4})},
       {},
       {2, 0, 0}},
      {"assemble_columns",
       Assemble{.shape = {2, 3, 2}, .boxes = {0, 0, 0, 2, 3, 2}},
       {f64({3, 4, 5})},
       {},
       {1, 1, 2}},
      // Corners out of larger tensors, the last one first. Then boxes that do not make up a grid.
      {"assemble_corners",
       Assemble{.shape = {3, 5}, .boxes = {1, 2, 2, 3, 2, 2, 1, 3}, .layered = true},
       {f64({1, 2}), f64({3, 4}), f64({2, 2}), f64({2, 3})},
       {},
       {0, 0, 2, 3, 1, 0, 0, 0, 0, 0, 0, 3, 1, 0, 2, 0}},
      {"assemble_around",
       Assemble{.shape = {3, 3}, .boxes = {1, 1, 1, 2, 2, 1, 1, 2, 2, 1}, .layered = true},
       {f64({1, 1}), f64({1, 2}), f64({2, 1}), f64({2, 3}), f64({2, 1})},
       {},
       {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 2, 1, 0, 0, 1, 0}},
      // Two columns, the second one first, and two whole layers to combine with them.
      {"assemble_layers",
       Assemble{.shape = {2, 2}, .boxes = {2, 1, 2, 1, 2, 2, 2, 2}, .layered = true},
       {f64({2, 1}), f64({3, 2}), f64({2, 2}), f64({3, 3})},
       {},
       {0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0}},
  };
}

}  // namespace troika
