#include "ops/testing/op_cases.h"

namespace troika {

namespace {

/// Every kind, with and without state and lengths, in both directions.
std::vector<OpCase> recurrent_cases() {
  std::vector<OpCase> cases;
  for (std::size_t kind = 0; kind < enum_names(RecurrentKind{}).size(); ++kind) {
    std::string name(enum_names(RecurrentKind{})[kind]);
    Recurrent op{.kind = static_cast<RecurrentKind>(kind), .hidden = 4};
    cases.push_back({name, op, {f64({3, 5, 2})}});
    op.reverse = op.has_state = op.has_lengths = true;
    OpCase full{name + "_full", op, {f64({5, 4, 3}), f64({5, 4})}};
    if (op.kind == RecurrentKind::lstm) full.inputs.push_back(f64({5, 4}));
    full.inputs.push_back(i32({5}));
    cases.push_back(full);
    op.reverse = false;
    full.name = name + "_lengths", full.op = op;
    cases.push_back(full);
  }
  return cases;
}

}  // namespace

std::vector<OpCase> sequence_cases() {
  std::vector<OpCase> cases{
      {"softmax", Softmax{}, {f64({5, 7})}},
      {"softmax_rank_3", Softmax{}, {f64({3, 4, 5})}},
      {"embedding", Embedding{.vocabulary = 11, .width = 6, .dtype = DType::f64}, {i32({3, 5})}},
      {"embedding_rows",
       Embedding{.vocabulary = 5, .width = 4, .dtype = DType::f64},
       {i32({7})},
       {},
       {3}},
      {"dropout", Dropout{.rate = 0.3, .stream = 0x1234567890abcdef}, {f64({5, 3, 4})}},
      {"dropout_tile", Dropout{.rate = 0.5, .extents = {9, 11}}, {f64({6, 5})}, {}, {7, 2, 1}},
      {"attention", Attention{.heads = 3}, {f64({2, 5, 6}), f64({2, 4, 6}), f64({2, 4, 6})}},
      {"attention_causal",
       Attention{.heads = 2, .causal = true},
       {f64({3, 5, 8}), f64({3, 5, 8}), f64({3, 5, 8})}},
      {"attention_mask",
       Attention{.heads = 2, .has_mask = true},
       {f64({3, 3, 6}), f64({3, 5, 6}), f64({3, 5, 6}), f64({3, 5})}},
      {"attention_packed", Attention{.heads = 3, .packed = true}, {f64({2, 4, 18})}},
      {"attention_packed_causal_mask",
       Attention{.heads = 2, .causal = true, .packed = true, .has_mask = true},
       {f64({3, 6, 12}), f64({3, 6})}},
      {"attention_packed_tile",
       Attention{.heads = 2, .causal = true, .packed = true, .first_query = 2, .queries = 3},
       {f64({2, 6, 12})}},
      {"attention_packed_tile_not_causal",
       Attention{.heads = 2, .packed = true, .queries = 3},
       {f64({2, 6, 12})},
       {},
       {2}},
  };
  std::vector<OpCase> recurrent = recurrent_cases();
  cases.insert(cases.end(), recurrent.begin(), recurrent.end());
  return cases;
}

}  // namespace troika
