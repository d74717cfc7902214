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
    op.begin = 3, op.sequence = 9;
    full.name = name + "_begin", full.op = op;
    cases.push_back(full);
  }
  return cases;
}

/// A chunk of a layer, or one step of it, whose input is projected.
OpCase projected_case(const Recurrent& op, std::int64_t steps) {
  std::int64_t samples = 5;
  OpCase row{std::string(enum_names(op.kind)[static_cast<std::size_t>(op.kind)]) +
                 (steps == 1 ? "_step" : "_chunk"),
             op,
             {f64({samples, steps, gates_of(op.kind), units_of(op)})}};
  if (op.reverse) row.name += "_reverse";
  if (op.has_state) {
    row.name += "_state";
    row.inputs.push_back(f64({samples, op.hidden}));
    if (op.kind == RecurrentKind::lstm) row.inputs.push_back(f64({samples, units_of(op)}));
  }
  if (op.has_lengths) {
    row.name += "_lengths";
    row.inputs.push_back(i32({samples}));
  }
  return row;
}

/// Every kind, direction and choice of inputs. Some samples end before the chunk, some in it.
std::vector<OpCase> projected_cases() {
  std::vector<OpCase> cases;
  for (RecurrentKind kind : {RecurrentKind::lstm, RecurrentKind::gru, RecurrentKind::rnn}) {
    for (int choice = 0; choice < 8; ++choice) {
      Recurrent op{.kind = kind,
                   .hidden = 5,
                   .reverse = (choice & 1) != 0,
                   .has_state = (choice & 2) != 0,
                   .has_lengths = (choice & 4) != 0,
                   .projected = true};
      if (op.has_lengths) op.begin = 2, op.sequence = 6;
      for (std::int64_t steps : {3, 1}) cases.push_back(projected_case(op, steps));
    }
    Recurrent last_units{
        .kind = kind, .hidden = 5, .has_state = true, .projected = true, .units = 3};
    OpCase tile = projected_case(last_units, 1);
    tile.name += "_tile", tile.position = {0, 2};
    cases.push_back(tile);
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
      {"dropout_begin",
       Dropout{.rate = 0.5, .stream = 6, .extents = {9, 11}, .begin = {2, 4}},
       {f64({6, 5})}},
      {"gate_projection_lstm", GateProjection{.hidden = 4}, {f64({3, 5, 7})}},
      {"gate_projection_gru",
       GateProjection{.kind = RecurrentKind::gru, .hidden = 5},
       {f64({5, 1, 3})}},
      {"gate_projection_rnn",
       GateProjection{.kind = RecurrentKind::rnn, .hidden = 3},
       {f64({2, 4, 3})}},
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
  for (const std::vector<OpCase>& more : {recurrent_cases(), projected_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace troika
