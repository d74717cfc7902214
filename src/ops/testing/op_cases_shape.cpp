#include "ops/testing/op_cases.h"

namespace troika {

std::vector<OpCase> shape_cases() {
  return {
      {"reshape_flatten", Reshape{.shape = {0, -1}}, {f64({5, 3, 2, 4})}},
      {"reshape_merge_first", Reshape{.shape = {-1, 6}}, {f64({3, 4, 6})}},
      {"reshape_divide_first", Reshape{.shape = {3, 4, 5, -1}}, {f64({12, 5, 6})}},
      {"reshape_common_factor", Reshape{.shape = {4, 3, 5}}, {f64({6, 2, 5})}},
      {"reshape_ones", Reshape{.shape = {1, 5, 1, 6, 1}}, {f64({5, 1, 3, 2})}},
      {"transpose", Transpose{.permutation = {1, 0}}, {f64({5, 3})}},
      {"transpose_heads", Transpose{.permutation = {0, 2, 3, 1}}, {f64({2, 3, 4, 5})}},
      {"concat", Concat{.dim = 1}, {f64({3, 2, 4}), f64({3, 5, 4}), f64({3, 1, 4})}},
      {"concat_last", Concat{.dim = -1}, {f64({5, 2}), f64({5, 3})}},
      {"slice", SliceTensor{.dim = 1, .begin = 2, .end = 5}, {f64({3, 6, 4})}},
      {"slice_last", SliceTensor{.dim = -1, .begin = 0, .end = 2}, {f64({5, 3})}},
      {"split", SplitTensor{.dim = 1, .sizes = {2, 1, 4}}, {f64({3, 7, 2})}},
      {"split_last", SplitTensor{.dim = -1, .sizes = {3, 3}}, {f64({5, 6})}},
      {"mean", Mean{.dim = 1}, {f64({3, 5, 4})}},
      {"mean_first", Mean{.dim = 0}, {f64({5, 3})}},
      {"mean_last", Mean{}, {f64({4, 2, 6})}},
  };
}

}  // namespace troika
