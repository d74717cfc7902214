// How gradients move weights, and how the learning rate goes over a run.
//
// All of it is plain values. The functions at the end throw Error(usage) for a number that makes no
// sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troika::optim {

struct CosineOptions {
  double warmup = 0;  ///< Share of the run, in [0, 1), in which the rate rises to its full value.
  double final_part = 0;  ///< The rate at the end, as a part of the full one.
};
struct PolynomialOptions {
  double warmup = 0;
  double power = 1;
  double final_part = 0;
};
struct StepOptions {
  double warmup = 0;
  double every_epochs = 30;  ///< How often the rate is multiplied
  double factor = 0.1;       ///< by this.
};
struct ConstantOptions {
  double warmup = 0;
};
/// The learning rate over the run, as a factor of the optimizer's own. Any of the four options
/// stands for its schedule: .schedule = optim::CosineOptions{.warmup = 0.05}.
using Schedule = std::variant<ConstantOptions, CosineOptions, PolynomialOptions, StepOptions>;

/// Other values for the parameters whose names fit a pattern ('*' any characters, '?' one). The
/// first group that fits counts.
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
  double weight_decay = 0;  ///< adam: added to the gradient. adamw: taken off the weight.
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
/// You et al. 2017, arXiv:1708.03888: a rate for each layer, for very large batches.
Optimizer lars(const LarsOptions& options = {});
/// You et al. 2020, arXiv:1904.00962.
Optimizer lamb(const LambOptions& options = {});

}  // namespace troika::optim
