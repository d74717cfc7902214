#include "ops/op_cases.h"

namespace troika {

std::vector<OpCase> sequence_cases() {
  return {
      {"softmax", Softmax{}, {f64({5, 7})}},
      {"softmax_rank_3", Softmax{}, {f64({3, 4, 5})}},
      {"embedding", Embedding{.vocabulary = 11, .width = 6, .dtype = DType::f64}, {i32({3, 5})}},
      {"embedding_rows", Embedding{.vocabulary = 5, .width = 4, .first = 3, .dtype = DType::f64}, {i32({7})}},
      {"dropout", Dropout{.rate = 0.3, .stream = 0x1234567890abcdef}, {f64({5, 3, 4})}},
      {"dropout_tile", Dropout{.rate = 0.5, .stream = 7, .origin = {2, 1}, .extents = {9, 11}}, {f64({6, 5})}},
  };
}

}  // namespace troika
