// The layers of troika/nn.h. Each calls the layer of the same name in graph/.
#include <fmt/format.h>
#include <troika/error.h>
#include <troika/nn.h>

#include "api/node.h"
#include "graph/layers_attention.h"
#include "graph/layers_recurrent.h"
#include "zoo/inputs_and_loss.h"

namespace troika::nn {
namespace {

using internal::Place;

template <class Apply>
Module layer(const char* kind, Apply apply) {
  return Module(std::make_shared<internal::Node>(internal::Node{.kind = kind, .apply = apply}));
}

layers::Extent2 to_layers(Extent extent) { return {extent.height, extent.width}; }

void require(bool holds, const char* layer, const std::string& sentence) {
  if (!holds) throw Error(ErrorKind::usage, fmt::format("nn::{}: {}", layer, sentence));
}

void require_out(const char* layer, const char* option, std::int64_t value) {
  require(value >= 1, layer, fmt::format("'{}' must be at least 1, not {}", option, value));
}

void require_rate(const char* layer, double rate) {
  require(rate >= 0 && rate < 1, layer,
          fmt::format("the dropout rate must be in [0, 1), not {}", rate));
}

Module activation(const char* kind, ActivationKind which) {
  return layer(kind, [which](const Place& at, TensorId x) {
    return layers::activation(at.builder, at.name, x, which);
  });
}

Module recurrent(const char* kind, RecurrentKind which, const RecurrentOptions& options) {
  require_out(kind, "hidden", options.hidden);
  require_out(kind, "layers", options.layers);
  require_rate(kind, options.dropout);
  return layer(kind, [which, options](const Place& at, TensorId x) {
    return layers::recurrent(at.builder, at.name, x,
                             {.kind = which,
                              .hidden = options.hidden,
                              .layers = options.layers,
                              .bidirectional = options.bidirectional,
                              .dropout = options.dropout})
        .y;
  });
}

layers::PoolOptions to_layers(const PoolOptions& options) {
  layers::PoolOptions made{.size = to_layers(options.size), .pad = to_layers(options.pad)};
  if (options.stride) made.stride = to_layers(*options.stride);
  return made;
}

}  // namespace

Module conv2d(const Conv2dOptions& options) {
  require_out("conv2d", "out", options.out);
  return layer("conv", [options](const Place& at, TensorId x) {
    return layers::conv2d(at.builder, at.name, x,
                          {.out = options.out,
                           .kernel = to_layers(options.kernel),
                           .stride = to_layers(options.stride),
                           .pad = to_layers(options.pad),
                           .dilation = to_layers(options.dilation),
                           .groups = options.groups,
                           .bias = options.bias});
  });
}

Module conv_transpose2d(const ConvTranspose2dOptions& options) {
  require_out("conv_transpose2d", "out", options.out);
  return layer("conv_transpose", [options](const Place& at, TensorId x) {
    return layers::conv_transpose2d(at.builder, at.name, x,
                                    {.out = options.out,
                                     .kernel = to_layers(options.kernel),
                                     .stride = to_layers(options.stride),
                                     .pad = to_layers(options.pad),
                                     .bias = options.bias});
  });
}

Module linear(const LinearOptions& options) {
  require(options.out >= 0, "linear", fmt::format("'out' cannot be {}", options.out));
  return layer("linear", [options](const Place& at, TensorId x) {
    std::int64_t out = options.out > 0 ? options.out : zoo::answers(at.samples, 0);
    return layers::linear(at.builder, at.name, x, {.out = out, .bias = options.bias});
  });
}

Module embedding(const EmbeddingOptions& options) {
  require_out("embedding", "width", options.width);
  require(options.vocabulary >= 0, "embedding", "'vocabulary' cannot be negative");
  return layer("embedding", [options](const Place& at, TensorId x) {
    std::int64_t vocabulary = options.vocabulary > 0 ? options.vocabulary : at.samples.classes;
    return layers::embedding(
        at.builder, at.name, x,
        {.vocabulary = vocabulary, .width = options.width, .dtype = at.samples.dtype});
  });
}

Module position() {
  return layer("position", [](const Place& at, TensorId x) {
    return at.builder.add(at.name, Position{}, {x});
  });
}

Module batch_norm(const NormOptions& options) {
  return layer("batch_norm", [options](const Place& at, TensorId x) {
    return layers::batch_norm(at.builder, at.name, x, {.epsilon = options.epsilon});
  });
}

Module layer_norm(const NormOptions& options) {
  return layer("layer_norm", [options](const Place& at, TensorId x) {
    return layers::layer_norm(at.builder, at.name, x, options.epsilon);
  });
}

Module self_attention(const AttentionOptions& options) {
  require_out("self_attention", "heads", options.heads);
  return layer("attention", [options](const Place& at, TensorId x) {
    return layers::self_attention(at.builder, at.name, x,
                                  {.heads = options.heads, .causal = options.causal});
  });
}

Module lstm(const RecurrentOptions& options) {
  return recurrent("lstm", RecurrentKind::lstm, options);
}
Module gru(const RecurrentOptions& options) {
  return recurrent("gru", RecurrentKind::gru, options);
}

Module relu() { return activation("relu", ActivationKind::relu); }
Module gelu() { return activation("gelu", ActivationKind::gelu); }
Module sigmoid() { return activation("sigmoid", ActivationKind::sigmoid); }
Module tanh() { return activation("tanh", ActivationKind::tanh); }

Module leaky_relu(double slope) {
  // The backward pass tells the two sides apart by the sign of the output.
  if (!(slope >= 0))
    throw Error(ErrorKind::usage,
                fmt::format("leaky_relu: the slope must be at least 0, not {}", slope));
  return layer("leaky_relu", [slope](const Place& at, TensorId x) {
    return layers::leaky_relu(at.builder, at.name, x, slope);
  });
}

Module dropout(const DropoutOptions& options) {
  require_rate("dropout", options.rate);
  return layer("dropout", [options](const Place& at, TensorId x) {
    return layers::dropout(at.builder, at.name, x, options.rate);
  });
}

Module max_pool(const PoolOptions& options) {
  return layer("max_pool", [options](const Place& at, TensorId x) {
    return layers::max_pool(at.builder, at.name, x, to_layers(options));
  });
}

Module average_pool(const PoolOptions& options) {
  return layer("average_pool", [options](const Place& at, TensorId x) {
    return layers::average_pool(at.builder, at.name, x, to_layers(options));
  });
}

Module global_average_pool() {
  return layer("global_average_pool", [](const Place& at, TensorId x) {
    return layers::global_average_pool(at.builder, at.name, x);
  });
}

Module flatten() {
  return layer("flatten",
               [](const Place& at, TensorId x) { return layers::flatten(at.builder, at.name, x); });
}

Module mean_over_time() {
  return layer("mean_over_time", [](const Place& at, TensorId x) {
    return at.builder.add(at.name, Mean{.dim = 1}, {x});
  });
}

}  // namespace troika::nn
