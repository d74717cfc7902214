// Networks, put together from layers that learn their input sizes from what stands before them.
//
//   auto net = nn::sequential(nn::conv2d({.out = 32, .kernel = 3, .pad = 1}), nn::relu(),
//   nn::flatten(),
//                             nn::linear({.out = 10}).named("head"));
//
// A module only describes: it has no weights, and nothing is checked against the data before a
// Trainer takes both. So these functions throw for a bad option (Error(usage)), and the Trainer's
// constructor throws for layers that do not fit together, naming the layer.
//
// Parameters are called by their place in the network, "conv1.weight", "residual2.conv1.bias",
// "head.weight": the kind of a layer and its number among those of its kind in the same sequence,
// or the name it was given. Patterns for freezing and for groups speak of these names, and files
// keep them.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troika::internal {
struct Node;
}

namespace troika::nn {

/// A layer or a network of layers. A constant value: copies are cheap, and one may be used several
/// times, each time with weights of its own. Safe to share between threads.
class Module {
 public:
  /// The same module under this name, which must not be empty or hold a '.'.
  Module named(const std::string& name) const;

  /// Not for users: what the handle refers to.
  explicit Module(std::shared_ptr<const internal::Node> node) : node_(std::move(node)) {}
  const internal::Node& node() const { return *node_; }

 private:
  std::shared_ptr<const internal::Node> node_;
};

/// Height and width; one number means both.
struct Extent {
  std::int64_t height = 1;
  std::int64_t width = 1;

  /// Not explicit, so that it reads as .kernel = 3.
  constexpr Extent(std::int64_t both) : height(both), width(both) {}  // NOLINT
  constexpr Extent(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

// Layers with weights.

struct Conv2dOptions {
  std::int64_t out = 0;  ///< Channels; at least 1.
  Extent kernel = 3;
  Extent stride = 1;
  Extent pad = 0;
  Extent dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};
/// [n, channels, h, w] → [n, out, h', w'].
Module conv2d(const Conv2dOptions& options);

struct ConvTranspose2dOptions {
  std::int64_t out = 0;
  Extent kernel = 2;
  Extent stride = 2;
  Extent pad = 0;
  bool bias = true;
};
Module conv_transpose2d(const ConvTranspose2dOptions& options);

struct LinearOptions {
  std::int64_t out = 0;  ///< 0: one for each class, or number to predict, of the data.
  bool bias = true;
};
/// Over the last dimension.
Module linear(const LinearOptions& options = {});

struct EmbeddingOptions {
  std::int64_t width = 0;       ///< At least 1.
  std::int64_t vocabulary = 0;  ///< 0: that of the data.
};
/// Tokens [n, t] → vectors [n, t, width].
Module embedding(const EmbeddingOptions& options);
/// Adds a learnt vector for each position: [n, t, d] → the same.
Module position();

struct NormOptions {
  double epsilon = 1e-5;
};
/// Over each channel of the batch while training, by running statistics in evaluation.
Module batch_norm(const NormOptions& options = {});
/// Over the last dimension.
Module layer_norm(const NormOptions& options = {});

struct AttentionOptions {
  std::int64_t heads = 1;  ///< Must divide the width.
  bool causal = false;     ///< A token sees no later ones.
};
/// [n, t, d] → the same.
Module self_attention(const AttentionOptions& options);

struct RecurrentOptions {
  std::int64_t hidden = 0;  ///< At least 1.
  std::int64_t layers = 1;
  bool bidirectional = false;  ///< Doubles the width of the result.
  double dropout = 0;          ///< Rate between layers, in [0, 1).
};
/// [n, t, d] → [n, t, hidden].
Module lstm(const RecurrentOptions& options);
Module gru(const RecurrentOptions& options);

// Layers without weights.

Module relu();
Module leaky_relu(double slope = 0.01);
Module gelu();
Module sigmoid();
Module tanh();

struct DropoutOptions {
  double rate = 0.5;  ///< In [0, 1).
};
/// Off in evaluation.
Module dropout(const DropoutOptions& options = {});

struct PoolOptions {
  Extent size = 2;
  std::optional<Extent> stride{};  ///< The size if absent.
  Extent pad = 0;
};
Module max_pool(const PoolOptions& options = {});
Module average_pool(const PoolOptions& options = {});
/// [n, c, h, w] → [n, c].
Module global_average_pool();
/// [n, ...] → [n, product of the rest].
Module flatten();
/// The mean over time: [n, t, d] → [n, d].
Module mean_over_time();

// Networks.

/// One after the other; at least one.
Module sequential(std::vector<Module> modules);
template <std::convertible_to<Module>... Modules>
Module sequential(Module first, Modules... rest) {
  return sequential(std::vector<Module>{std::move(first), std::move(rest)...});
}

struct ResidualOptions {
  Module body;
  /// Brings the input to the shape of the body's result; absent: the input itself is added.
  std::optional<Module> shortcut{};
};
/// x + body(x), or shortcut(x) + body(x). He et al. 2016, doi:10.1109/CVPR.2016.90.
Module residual(const ResidualOptions& options);
template <std::convertible_to<Module>... Modules>
Module residual(Module first, Modules... rest) {
  return residual(ResidualOptions{.body = sequential(std::move(first), std::move(rest)...)});
}

using ZooValue = std::variant<bool, std::int64_t, double, std::string>;
struct ZooOption {
  std::string name;
  ZooValue value;

  ZooOption(std::string option, bool given) : name(std::move(option)), value(given) {}
  ZooOption(std::string option, int given) : name(std::move(option)), value(std::int64_t{given}) {}
  ZooOption(std::string option, std::int64_t given) : name(std::move(option)), value(given) {}
  ZooOption(std::string option, double given) : name(std::move(option)), value(given) {}
  ZooOption(std::string option, const char* given) : name(std::move(option)), value(given) {}
};
/// A ready model by name, as `[model]` of a run file would have it: zoo("resnet18", {{"width",
/// 0.25}}). It is a whole network with the loss of its own kind, so it cannot be a part of another
/// one. The Trainer throws Error(usage) for a name or an option that is not known, with the nearest
/// one that is.
Module zoo(const std::string& name, std::vector<ZooOption> options = {});

}  // namespace troika::nn
