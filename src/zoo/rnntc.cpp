#include "zoo/rnntc.h"

#include "graph/layers_recurrent.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {
namespace {

enum class PoolOver { last, mean };

std::span<const std::string_view> enum_names(PoolOver) {
  static constexpr std::array<std::string_view, 2> kNames{"last", "mean"};
  return kNames;
}

/// [n,t,w] → [n,w].
TensorId pool(GraphBuilder& b, const layers::RecurrentResult& result, PoolOver over,
              bool bidirectional) {
  if (over == PoolOver::mean) return b.add("pool", Mean{.dim = 1}, {result.y});
  // With two directions the last state is that of the reverse direction.
  TensorId forward = result.last.back().h;
  if (!bidirectional) return forward;
  // Each direction ends at its own end of the text, so both together have read all of it.
  return layers::concat(b, "pool", {result.last[result.last.size() - 2].h, forward}, 1);
}

}  // namespace

Graph make(const Rnntc& options, const Samples& samples) {
  RecurrentKind kind = parse_choice<RecurrentKind>({"rnntc", "cell"}, options.cell);
  PoolOver over = parse_choice<PoolOver>({"rnntc", "pool"}, options.pool);
  GraphBuilder b("rnntc");
  TrainingInputs inputs = token_inputs(
      b, samples, {.model = "rnntc", .usual_length = 200, .target = TargetPer::sample});
  std::optional<TensorId> lengths =
      optional_input(b, samples, "length", {{samples.batch}, DType::i32});
  TensorId x = layers::embedding(b, "embedding", inputs.input,
                                 {.vocabulary = input_vocabulary(samples, options.vocabulary),
                                  .width = options.hidden,
                                  .dtype = samples.dtype});
  layers::RecurrentResult result = layers::recurrent(b, options.cell, x,
                                                     {.kind = kind,
                                                      .hidden = options.hidden,
                                                      .layers = options.layers,
                                                      .bidirectional = options.bidirectional,
                                                      .dropout = options.dropout,
                                                      .lengths = lengths});
  x = layers::dropout(b, "output.dropout", pool(b, result, over, options.bidirectional),
                      options.dropout);
  classify(b, inputs, layers::linear(b, "output", x, {.out = classes(samples, 2)}));
  return b.finish();
}

}  // namespace troika::zoo
