// Networks of layers. A layer infers its input size from the layer before it, the first one from
// the samples.
//
//   namespace nn = troika::nn;
//   nn::Module net = nn::sequential(nn::conv2d({.out = 32, .kernel = 3, .pad = 1}), nn::relu(),
//                                   nn::flatten(), nn::linear({.out = 10}).named("head"));
//
// A module is a description without weights. The functions below throw Error(usage) for a bad
// option; the constructor of Trainer, which sees the samples, throws Error(usage) for layers that
// do not fit together, naming the layer.
//
// A parameter is named after its place in the network: "conv1.weight", "residual2.conv1.bias",
// "head.weight". A layer is called by its kind and its number among those of its kind in the same
// sequence, or by the name it was given. Files, and the patterns of TrainerOptions::freeze and
// optim::Group, use these names.
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

/// A layer or a network of layers. A constant value: copies are cheap and share their description.
/// A module that is used several times has its own weights each time. Any number of threads may use
/// one at once.
class Module {
 public:
  /// The same module under this name. Throws Error(usage) if it is empty or contains a '.'.
  Module named(const std::string& name) const;

  /// Not for users: the description that the handle refers to.
  explicit Module(std::shared_ptr<const internal::Node> node) : node_(std::move(node)) {}
  const internal::Node& node() const { return *node_; }

 private:
  std::shared_ptr<const internal::Node> node_;
};

/// Height and width; one number means both.
struct Extent {
  std::int64_t height = 1;
  std::int64_t width = 1;

  /// Not explicit, so that a user can write .kernel = 3.
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
  std::int64_t out = 0;  ///< 0: one for each class of the samples, or number to predict.
  bool bias = true;
};
/// [n, ..., features] → [n, ..., out].
Module linear(const LinearOptions& options = {});

struct EmbeddingOptions {
  std::int64_t width = 0;       ///< At least 1.
  std::int64_t vocabulary = 0;  ///< 0: that of the samples.
};
/// Tokens [n, t] → vectors [n, t, width].
Module embedding(const EmbeddingOptions& options);
/// Adds a trained vector for each position: [n, t, d] → the same shape.
Module position();

struct NormOptions {
  double epsilon = 1e-5;
};
/// Normalises each channel: by the statistics of the batch in training, by running statistics in
/// evaluation.
Module batch_norm(const NormOptions& options = {});
/// Normalises over the last dimension.
Module layer_norm(const NormOptions& options = {});

struct AttentionOptions {
  std::int64_t heads = 1;  ///< Must divide the width.
  bool causal = false;     ///< A token does not see later ones.
};
/// [n, t, d] → the same shape.
Module self_attention(const AttentionOptions& options);

struct RecurrentOptions {
  std::int64_t hidden = 0;  ///< At least 1.
  std::int64_t layers = 1;
  bool bidirectional = false;  ///< Doubles the last dimension of the result.
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
/// Sets elements to zero at random in training; does nothing in evaluation.
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

/// Applies the modules one after the other; at least one.
Module sequential(std::vector<Module> modules);
template <std::convertible_to<Module>... Modules>
Module sequential(Module first, Modules... rest) {
  return sequential(std::vector<Module>{std::move(first), std::move(rest)...});
}

struct ResidualOptions {
  Module body;
  /// Gives the input the shape of the body's result. Absent: the input itself is added.
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
/// A ready model by name with the options of `[model]` in a run file:
/// zoo("resnet18", {{"width", 0.25}}). It is a whole network, so it cannot be a part of another
/// one. The constructor of Trainer throws Error(usage) for an unknown name or option and suggests
/// the nearest known one.
Module zoo(const std::string& name, std::vector<ZooOption> options = {});

}  // namespace troika::nn
