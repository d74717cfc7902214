#include "zoo/mlp.h"

#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {

Graph make(const Mlp& options, const Samples& samples) {
  std::vector<std::int64_t> sizes = parse_sizes({"mlp", "hidden"}, options.hidden);
  // One size stands for `layers` layers of it; a list gives the layers itself.
  if (sizes.size() == 1) sizes.assign(static_cast<std::size_t>(options.layers), sizes[0]);

  GraphBuilder b("mlp");
  TrainingInputs inputs = float_inputs(b, samples, input_shape("mlp", samples, {784}));
  TensorId x = layers::flatten(b, "flatten", inputs.input);
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    std::string layer = std::to_string(at + 1);
    x = layers::linear(b, "fc" + layer, x,
                       {.out = sizes[at], .init = layers::he_normal(b.shape(x).back())});
    x = layers::relu(b, "relu" + layer, x);
    x = layers::dropout(b, "dropout" + layer, x, options.dropout);
  }
  add_loss(b, inputs, layers::linear(b, "output", x, {.out = answers(samples, 10)}),
           {"mlp", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
