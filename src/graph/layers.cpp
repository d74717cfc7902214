#include "graph/layers.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace troika::layers {
namespace {

/// Parameters are named after the layer. If the caller gives another name, parameters of that name
/// that exist already are shared.
ApplyOptions named(const std::string& layer, const std::string& given,
                   const std::optional<Init>& init = {}) {
  return {.prefix = given.empty() ? layer : given, .reuse = !given.empty(), .init = {init}};
}

/// Padding behind the last row or column with which the last window, which extends beyond the
/// image, is counted.
std::int64_t pad_end(std::int64_t extent, std::int64_t size, std::int64_t stride,
                     std::int64_t pad) {
  // The division is rounded up, which counts a last window that is not full.
  std::int64_t windows = (extent + 2 * pad - size + stride - 1) / stride + 1;
  if ((windows - 1) * stride >= extent + pad)
    --windows;  // As in PyTorch, a window must begin inside the image or the first padding.
  return std::max(pad, (windows - 1) * stride + size - extent - pad);
}

TensorId pool(GraphBuilder& b, const std::string& name, TensorId x, const PoolOptions& options,
              PoolKind kind) {
  Extent2 stride = options.stride.value_or(options.size);
  Pool2d op{.kind = kind,
            .window = options.size.pair(),
            .stride = stride.pair(),
            .pad = options.pad.pair(),
            .pad_end = options.pad.pair(),
            .include_padding = options.count_pad};
  // Meaningless for max; the default keeps the text form, and with it kernel keys, equal.
  if (kind == PoolKind::max) op.include_padding = false;
  for (std::size_t dim = 0; options.ceil && dim < 2; ++dim)
    op.pad_end[dim] = pad_end(b.shape(x)[dim + 2], op.window[dim], op.stride[dim], op.pad[dim]);
  return b.add(name, op, {x});
}

}  // namespace

Init he_normal(std::int64_t fan) { return normal(std::sqrt(2.0 / static_cast<double>(fan))); }

Init normal(double deviation) { return {Init::Kind::normal, deviation}; }

TensorId linear(GraphBuilder& b, const std::string& name, TensorId x,
                const LinearOptions& options) {
  x = b.add(name, Linear{.out = options.out}, {x}, named(name, options.parameters, options.init));
  if (!options.bias) return x;
  return b.add(name + ".bias", Bias{}, {x}, named(name, options.parameters, options.bias_init));
}

TensorId conv2d(GraphBuilder& b, const std::string& name, TensorId x,
                const Conv2dOptions& options) {
  Conv2d op{.out = options.out,
            .kernel = options.kernel.pair(),
            .stride = options.stride.pair(),
            .pad = options.pad.pair(),
            .pad_end = options.pad.pair(),
            .dilation = options.dilation.pair(),
            .groups = options.groups};
  x = b.add(name, op, {x}, named(name, options.parameters, options.init));
  return options.bias ? b.add(name + ".bias", Bias{.dim = 1}, {x}, named(name, options.parameters))
                      : x;
}

TensorId conv_transpose2d(GraphBuilder& b, const std::string& name, TensorId x,
                          const ConvTranspose2dOptions& options) {
  ConvTranspose2d op{.out = options.out,
                     .kernel = options.kernel.pair(),
                     .stride = options.stride.pair(),
                     .pad = options.pad.pair(),
                     .pad_end = options.pad.pair()};
  x = b.add(name, op, {x}, named(name, options.parameters, options.init));
  return options.bias ? b.add(name + ".bias", Bias{.dim = 1}, {x}, named(name, options.parameters))
                      : x;
}

TensorId batch_norm(GraphBuilder& b, const std::string& name, TensorId x,
                    const BatchNormOptions& options) {
  ApplyOptions apply = named(name, options.parameters, options.scale_init);
  apply.state_prefix = options.states;
  return b.add(name, BatchNorm{.epsilon = options.epsilon}, {x}, apply);
}

TensorId layer_norm(GraphBuilder& b, const std::string& name, TensorId x, double epsilon) {
  return b.add(name, LayerNorm{.epsilon = epsilon}, {x});
}

TensorId activation(GraphBuilder& b, const std::string& name, TensorId x, ActivationKind kind) {
  return b.add(name, Activation{.kind = kind}, {x});
}

TensorId relu(GraphBuilder& b, const std::string& name, TensorId x) {
  return activation(b, name, x, ActivationKind::relu);
}

TensorId leaky_relu(GraphBuilder& b, const std::string& name, TensorId x, double slope) {
  return b.add(name, Activation{.kind = ActivationKind::leaky_relu, .slope = slope}, {x});
}

TensorId max_pool(GraphBuilder& b, const std::string& name, TensorId x,
                  const PoolOptions& options) {
  return pool(b, name, x, options, PoolKind::max);
}

TensorId average_pool(GraphBuilder& b, const std::string& name, TensorId x,
                      const PoolOptions& options) {
  return pool(b, name, x, options, PoolKind::average);
}

TensorId global_average_pool(GraphBuilder& b, const std::string& name, TensorId x) {
  return b.add(name, GlobalPool{.kind = PoolKind::average}, {x});
}

TensorId flatten(GraphBuilder& b, const std::string& name, TensorId x) {
  if (b.shape(x).rank() == 2) return x;
  return b.add(name, Reshape{.shape = {0, -1}}, {x});
}

TensorId dropout(GraphBuilder& b, const std::string& name, TensorId x, double rate) {
  if (rate == 0) return x;
  // The name, not a counter, selects the stream: adding a layer does not change the masks of the
  // others.
  return b.add(name, Dropout{.rate = rate, .stream = hash_text(name)}, {x});
}

TensorId embedding(GraphBuilder& b, const std::string& name, TensorId x,
                   const EmbeddingOptions& options) {
  Embedding op{.vocabulary = options.vocabulary, .width = options.width, .dtype = options.dtype};
  return b.add(name, op, {x}, named(name, {}, options.init));
}

TensorId add(GraphBuilder& b, const std::string& name, TensorId x, TensorId y) {
  return b.add(name, Binary{.kind = BinaryKind::add}, {x, y});
}

TensorId concat(GraphBuilder& b, const std::string& name, const std::vector<TensorId>& parts,
                std::int64_t dim) {
  return b.add(name, Concat{.dim = dim}, parts);
}

}  // namespace troika::layers
