// Update rules for weights, and the learning rate over a run.
//
//   troika::optim::Optimizer optimizer = troika::optim::adamw(
//       {.learning_rate = 1e-3,
//        .weight_decay = 0.01,
//        .schedule = troika::optim::CosineOptions{.warmup = 0.05},
//        .groups = {{.match = "*.bias", .weight_decay = 0}}});
//
// All types are plain values. The functions at the end throw Error(usage), naming the option, for a
// value outside its range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troika::optim {

struct CosineOptions {
  double warmup = 0;      ///< Share of the run, in [0, 1), during which the rate rises linearly.
  double final_part = 0;  ///< The rate at the end, relative to the full rate.
};
struct PolynomialOptions {
  double warmup = 0;
  double power = 1;
  double final_part = 0;
};
struct StepOptions {
  double warmup = 0;
  double every_epochs = 30;  ///< Epochs between two changes of the rate.
  double factor = 0.1;       ///< The rate is multiplied by this at each change.
};
struct ConstantOptions {
  double warmup = 0;
};
/// The learning rate over the run, relative to the optimizer's. A run is all steps of a Trainer up
/// to the end of the current fit.
using Schedule = std::variant<ConstantOptions, CosineOptions, PolynomialOptions, StepOptions>;

/// Other values for the parameters whose names match a pattern: '*' stands for any characters, '?'
/// for one. The first group that matches a parameter applies.
struct Group {
  std::string match;
  std::optional<double> weight_decay{};  ///< Absent: the optimizer's.
  double learning_rate_factor = 1;
};

struct SgdOptions {
  double learning_rate = 0.05;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  Schedule schedule{};
  std::vector<Group> groups{};
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< adam: added to the gradient. adamw: subtracted from the weight.
  Schedule schedule{};
  std::vector<Group> groups{};
};

struct LarsOptions {
  double learning_rate = 1;
  double momentum = 0.9;
  double weight_decay = 1e-4;
  double trust = 0.001;
  Schedule schedule{};
  std::vector<Group> groups{};
};

struct LambOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  Schedule schedule{};
  std::vector<Group> groups{};
};

enum class Kind { sgd, adam, adamw, lars, lamb };

/// An update rule with its options; made by the functions below.
struct Optimizer {
  Kind kind = Kind::sgd;
  double learning_rate = 0.05;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double trust = 0.001;
  Schedule schedule{};
  std::vector<Group> groups{};
};

/// Stochastic gradient descent, with heavy-ball or Nesterov momentum.
Optimizer sgd(const SgdOptions& options = {});
/// Kingma and Ba 2015, arXiv:1412.6980.
Optimizer adam(const AdamOptions& options = {});
/// Loshchilov and Hutter 2019, arXiv:1711.05101.
Optimizer adamw(const AdamOptions& options = {});
/// You et al. 2017, arXiv:1708.03888: one rate for each layer, for very large batches.
Optimizer lars(const LarsOptions& options = {});
/// You et al. 2020, arXiv:1904.00962.
Optimizer lamb(const LambOptions& options = {});

}  // namespace troika::optim
