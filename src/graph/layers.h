// Layers: one or a few operators with their parameters. Each function takes the builder, a name for
// its operators and parameters, its input, and options.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace troika::layers {

/// Height and width; one number means both.
struct Extent2 {
  std::int64_t height = 1;
  std::int64_t width = 1;

  /// Not explicit, so that one can write .kernel = 3.
  constexpr Extent2(std::int64_t both) : height(both), width(both) {}  // NOLINT
  constexpr Extent2(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  std::array<std::int64_t, 2> pair() const { return {height, width}; }
};

/// Normal with variance 2/fan: He et al. 2015, doi:10.1109/ICCV.2015.123.
Init he_normal(std::int64_t fan);
Init normal(double deviation);

/// Operators NAME and NAME.bias; parameters NAME.weight and NAME.bias.
struct LinearOptions {
  std::int64_t out = 0;
  bool bias = true;
  std::optional<Init> init{};       ///< Initial weight; by default that of the operator.
  std::optional<Init> bias_init{};  ///< Zeros if absent.
  std::string parameters{};         ///< Replaces NAME in parameter names; existing ones are shared.
};
TensorId linear(GraphBuilder& b, const std::string& name, TensorId x, const LinearOptions& options);

/// Over images [n,c,h,w]. Operators and parameters as for linear.
struct Conv2dOptions {
  std::int64_t out = 0;
  Extent2 kernel = 1;
  Extent2 stride = 1;
  Extent2 pad = 0;
  Extent2 dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<Init> init{};
  std::string parameters{};
};
TensorId conv2d(GraphBuilder& b, const std::string& name, TensorId x, const Conv2dOptions& options);

struct ConvTranspose2dOptions {
  std::int64_t out = 0;
  Extent2 kernel = 1;
  Extent2 stride = 1;
  Extent2 pad = 0;
  bool bias = true;
  std::optional<Init> init{};
  std::string parameters{};
};
TensorId conv_transpose2d(GraphBuilder& b, const std::string& name, TensorId x,
                          const ConvTranspose2dOptions& options);

struct BatchNormOptions {
  double epsilon = 1e-5;
  std::optional<Init> scale_init{};  ///< Ones if absent.
  std::string parameters{};
  std::string states{};  ///< Replaces NAME in the names of the running statistics.
};
TensorId batch_norm(GraphBuilder& b, const std::string& name, TensorId x,
                    const BatchNormOptions& options = {});
/// Over the last dimension.
TensorId layer_norm(GraphBuilder& b, const std::string& name, TensorId x, double epsilon = 1e-5);

TensorId activation(GraphBuilder& b, const std::string& name, TensorId x, ActivationKind kind);
TensorId relu(GraphBuilder& b, const std::string& name, TensorId x);
TensorId leaky_relu(GraphBuilder& b, const std::string& name, TensorId x, double slope);

struct PoolOptions {
  Extent2 size = 2;
  std::optional<Extent2> stride{};  ///< The size if absent.
  Extent2 pad = 0;
  bool ceil = false;      ///< The last window may extend beyond the image.
  bool count_pad = true;  ///< Averages: padding counts as zeros.
};
TensorId max_pool(GraphBuilder& b, const std::string& name, TensorId x, const PoolOptions& options);
TensorId average_pool(GraphBuilder& b, const std::string& name, TensorId x,
                      const PoolOptions& options);
/// [n,c,h,w] → [n,c].
TensorId global_average_pool(GraphBuilder& b, const std::string& name, TensorId x);

/// [n, …] → [n, product of the rest]. Returns x if it has rank 2 already.
TensorId flatten(GraphBuilder& b, const std::string& name, TensorId x);
/// Returns x at rate 0. The random stream is the hash of the name.
TensorId dropout(GraphBuilder& b, const std::string& name, TensorId x, double rate);
/// Indices [n, …] → vectors [n, …, width]; parameter NAME.weight.
struct EmbeddingOptions {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  DType dtype = DType::f32;
  std::optional<Init> init{};
};
TensorId embedding(GraphBuilder& b, const std::string& name, TensorId x,
                   const EmbeddingOptions& options);

TensorId add(GraphBuilder& b, const std::string& name, TensorId x, TensorId y);
TensorId concat(GraphBuilder& b, const std::string& name, const std::vector<TensorId>& parts,
                std::int64_t dim);

}  // namespace troika::layers
