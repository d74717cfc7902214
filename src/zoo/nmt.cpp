#include "zoo/nmt.h"

#include "graph/layers_attention.h"
#include "graph/layers_recurrent.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

constexpr std::int64_t kUsualSentence = 50;

}  // namespace

Graph make(const Nmt& options, const Samples& samples) {
  require_heads("nmt", options.heads, options.width);
  require_field("nmt", samples, {"source", "pairs of texts: data.train = \"pairs:FILE\""});
  GraphBuilder b("nmt");
  std::int64_t vocabulary = classes(samples, 32'000);
  const Field* source_field = samples.find("source");
  std::int64_t length = source_field ? source_field->spec.shape.elements() : kUsualSentence;
  TrainingInputs inputs = token_inputs(
      b, samples, {.model = "nmt", .usual_length = kUsualSentence, .reads_source = true});
  TensorId source = b.input("source", {{samples.batch, length}, DType::i32});
  std::optional<TensorId> lengths =
      optional_input(b, samples, "length", {{samples.batch}, DType::i32});
  std::optional<TensorId> mask =
      optional_input(b, samples, "mask", {{samples.batch, length}, samples.dtype});

  auto embed = [&](const std::string& name, TensorId tokens, std::int64_t words) {
    return layers::embedding(b, name, tokens,
                             {.vocabulary = words, .width = options.width, .dtype = samples.dtype});
  };
  layers::RecurrentOptions stack{
      .hidden = options.width, .layers = options.layers, .dropout = options.dropout};
  layers::RecurrentOptions encoder_stack = stack, decoder_stack = stack;
  encoder_stack.lengths = lengths;
  auto [memory, last] = layers::recurrent(
      b, "encoder",
      embed("encoder.embedding", source, input_vocabulary(samples, options.vocabulary)),
      encoder_stack);
  // The decoder has no lengths: padding behind a target has weight 0 and follows every valid step.
  decoder_stack.start = last;
  TensorId x = layers::recurrent(b, "decoder", embed("decoder.embedding", inputs.input, vocabulary),
                                 decoder_stack)
                   .y;

  TensorId context =
      layers::cross_attention(b, "attention", x, memory, {.heads = options.heads, .mask = mask});
  // Equation 5 of the paper, the attentional state.
  x = layers::linear(b, "combine", layers::concat(b, "combine.both", {context, x}, -1),
                     {.out = options.width});
  x = layers::activation(b, "combine.tanh", x, ActivationKind::tanh);
  x = layers::dropout(b, "output.dropout", x, options.dropout);
  classify(b, inputs, layers::linear(b, "output", x, {.out = vocabulary}));
  return b.finish();
}

}  // namespace troika::zoo
