#include "zoo/gpt2.h"

#include <cmath>

#include "graph/layers_attention.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

constexpr double kGpt2Deviation = 0.02;

TensorId add_block(GraphBuilder& b, const std::string& name, TensorId x, const Gpt2& options) {
  // The paper scales the last layer of each residual branch by 1/sqrt(number of branches), because
  // the branches add up.
  Init plain = layers::normal(kGpt2Deviation);
  Init last = layers::normal(kGpt2Deviation / std::sqrt(2.0 * static_cast<double>(options.layers)));

  TensorId y = layers::layer_norm(b, name + ".ln_1", x);
  y = layers::self_attention(
      b, name + ".attn", y,
      {.heads = options.heads, .causal = true, .init = plain, .project_init = last});
  y = layers::dropout(b, name + ".attn.dropout", y, options.dropout);
  x = layers::add(b, name + ".attn.add", x, y);

  y = layers::layer_norm(b, name + ".ln_2", x);
  y = layers::linear(b, name + ".mlp.fc", y, {.out = 4 * options.width, .init = plain});
  y = layers::activation(b, name + ".mlp.gelu", y, ActivationKind::gelu_tanh);
  y = layers::linear(b, name + ".mlp.proj", y, {.out = options.width, .init = last});
  y = layers::dropout(b, name + ".mlp.dropout", y, options.dropout);
  return layers::add(b, name + ".mlp.add", x, y);
}

}  // namespace

Graph make(const Gpt2& options, const Samples& samples) {
  require_heads("gpt2", options.heads, options.width);
  GraphBuilder b("gpt2");
  std::int64_t vocabulary = classes(samples, 50'257);
  TrainingInputs inputs = token_inputs(b, samples, {.model = "gpt2", .usual_length = 1024});
  TensorId x = layers::embedding(b, "wte", inputs.input,
                                 {.vocabulary = vocabulary,
                                  .width = options.width,
                                  .dtype = samples.dtype,
                                  .init = layers::normal(kGpt2Deviation)});
  x = b.add("wpe", Position{}, {x});
  x = layers::dropout(b, "dropout", x, options.dropout);
  for (std::int64_t at = 0; at < options.layers; ++at)
    x = add_block(b, "h." + std::to_string(at), x, options);
  x = layers::layer_norm(b, "ln_f", x);
  TensorId logits =
      // Tied: the parameter wte.weight [vocabulary, width] is also the weight of the last layer.
      layers::linear(b, "lm_head", x, {.out = vocabulary, .bias = false, .parameters = "wte"});
  classify(b, inputs, logits);
  return b.finish();
}

}  // namespace troika::zoo
