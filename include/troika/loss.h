// The quantity that training minimises: the mean over the samples of the global batch, however many
// devices share them.
//
//   troika::Trainer classifier{net, images, troika::loss::cross_entropy(), optimizer};
//   troika::Trainer regression{net, table, troika::loss::mean_squared_error(), optimizer};
//   troika::loss::Loss rebuild = troika::loss::mean_squared_error({.target = "input"});
#pragma once

#include <string>

namespace troika::loss {

enum class Kind {
  cross_entropy,
  mean_squared_error,
  mean_absolute_error,
  sigmoid_cross_entropy,
  of_model
};

/// A plain value, made by the functions below, which do not fail. A Trainer throws Error(usage) if
/// the loss does not fit its samples or its network.
struct Loss {
  Kind kind = Kind::cross_entropy;
  /// The part of a sample that the network's result is compared with: "target" or "input". Empty:
  /// as TargetOptions.
  std::string target = "target";

  bool operator==(const Loss&) const = default;
};

/// Softmax and cross entropy of logits [n, ..., classes] against one class per row. Evaluation
/// reports an accuracy too.
Loss cross_entropy();

struct TargetOptions {
  /// "target" or "input". Empty: "target" if the samples have numbers to predict, otherwise
  /// "input", which trains the network to reproduce it.
  std::string target{};
};
/// The mean of (x - target)^2 over the elements of a sample. Evaluation reports an absolute error
/// too.
Loss mean_squared_error(const TargetOptions& options = {});
/// The mean of |x - target| over the elements of a sample: less affected by outliers.
Loss mean_absolute_error(const TargetOptions& options = {});
/// Each element of the result is the logit of an independent yes or no. The elements of the target
/// lie in [0, 1].
Loss sigmoid_cross_entropy(const TargetOptions& options = {});

/// The loss of a zoo model, whichever it is.
Loss of_model();

}  // namespace troika::loss
