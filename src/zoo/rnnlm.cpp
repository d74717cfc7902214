#include "zoo/rnnlm.h"

#include "graph/layers_recurrent.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {

Graph make(const Rnnlm& options, const Samples& samples) {
  RecurrentKind kind = parse_choice<RecurrentKind>({"rnnlm", "cell"}, options.cell);
  GraphBuilder b("rnnlm");
  std::int64_t vocabulary = classes(samples, 10'000);
  TrainingInputs inputs = token_inputs(b, samples, {.model = "rnnlm", .usual_length = 35});
  Init init{Init::Kind::uniform, 0.05};  // As in the paper, section 4.1, for the medium size.
  TensorId x = layers::embedding(
      b, "embedding", inputs.input,
      {.vocabulary = vocabulary, .width = options.hidden, .dtype = samples.dtype, .init = init});
  x = layers::dropout(b, "embedding.dropout", x, options.dropout);
  x = layers::recurrent(b, options.cell, x,
                        {.kind = kind,
                         .hidden = options.hidden,
                         .layers = options.layers,
                         .dropout = options.dropout,
                         .init = init})
          .y;
  x = layers::dropout(b, "output.dropout", x, options.dropout);
  classify(b, inputs, layers::linear(b, "output", x, {.out = vocabulary, .init = init}));
  return b.finish();
}

}  // namespace troika::zoo
