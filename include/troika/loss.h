// What training makes small. The loss of a step is the mean over the samples of the global batch,
// however many devices share it.
#pragma once

#include <string>

namespace troika::loss {

enum class Kind { cross_entropy, mean_squared_error, sigmoid_cross_entropy, of_model };

/// A plain value; made by the functions below.
struct Loss {
  Kind kind = Kind::cross_entropy;
  /// The part of a sample that the network's result is compared with: "target", or "input" to
  /// rebuild it.
  std::string target = "target";

  bool operator==(const Loss&) const = default;
};

/// Softmax and cross entropy of logits [n, ..., classes] against one class per row; evaluation then
/// gives an accuracy too.
Loss cross_entropy();

struct TargetOptions {
  std::string target = "input";
};
/// The mean over a sample's elements of (x - target)^2. Compares with the input, or with "target"
/// where the samples have numbers to predict (csv:, npy: with floating labels).
Loss mean_squared_error(const TargetOptions& options = {});
/// Each element of the result is the logit of an independent yes or no; the target's elements lie
/// in [0, 1].
Loss sigmoid_cross_entropy(const TargetOptions& options = {});

/// That of a zoo model, whichever it is.
Loss of_model();

}  // namespace troika::loss
