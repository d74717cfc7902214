#include <fmt/format.h>
#include <troika/error.h>
#include <troika/optim.h>

#include <cmath>
#include <string_view>

namespace troika::optim {
namespace {

struct Bounds {
  double least = 0;
  double below = INFINITY;  ///< Not included.
};

/// Refuses NaN too: no comparison with it holds.
void require(std::string_view option, double value, const Bounds& bounds) {
  if (value >= bounds.least && value < bounds.below) return;
  throw Error(ErrorKind::usage, fmt::format("optim: '{}' must be in [{}, {}), not {}", option,
                                            bounds.least, bounds.below, value));
}

void check(const ConstantOptions& schedule) { require("warmup", schedule.warmup, {0, 1}); }
void check(const CosineOptions& schedule) {
  require("warmup", schedule.warmup, {0, 1});
  require("final_part", schedule.final_part, {});
}
void check(const PolynomialOptions& schedule) {
  require("warmup", schedule.warmup, {0, 1});
  require("power", schedule.power, {});
  require("final_part", schedule.final_part, {});
}
void check(const StepOptions& schedule) {
  require("warmup", schedule.warmup, {0, 1});
  require("every_epochs", schedule.every_epochs, {1e-6});
  require("factor", schedule.factor, {});
}

Optimizer checked(Optimizer optimizer) {
  require("learning_rate", optimizer.learning_rate, {});
  require("momentum", optimizer.momentum, {0, 1});
  require("beta1", optimizer.beta1, {0, 1});
  require("beta2", optimizer.beta2, {0, 1});
  require("epsilon", optimizer.epsilon, {});
  require("weight_decay", optimizer.weight_decay, {});
  require("trust", optimizer.trust, {});
  if (optimizer.nesterov && optimizer.momentum == 0)
    throw Error(ErrorKind::usage, "optim: 'nesterov' needs a 'momentum' above 0");
  std::visit([](const auto& schedule) { check(schedule); }, optimizer.schedule);
  for (const Group& group : optimizer.groups) {
    if (group.match.empty())
      throw Error(ErrorKind::usage, "optim: a group needs a pattern to match, such as \"*.bias\"");
    require("group weight_decay", group.weight_decay.value_or(0), {});
    require("group learning_rate_factor", group.learning_rate_factor, {});
  }
  return optimizer;
}

Optimizer with_moments(Kind kind, const auto& options) {
  return checked({.kind = kind,
                  .learning_rate = options.learning_rate,
                  .beta1 = options.beta1,
                  .beta2 = options.beta2,
                  .epsilon = options.epsilon,
                  .weight_decay = options.weight_decay,
                  .schedule = options.schedule,
                  .groups = options.groups});
}

}  // namespace

Optimizer sgd(const SgdOptions& options) {
  return checked({.kind = Kind::sgd,
                  .learning_rate = options.learning_rate,
                  .momentum = options.momentum,
                  .nesterov = options.nesterov,
                  .weight_decay = options.weight_decay,
                  .schedule = options.schedule,
                  .groups = options.groups});
}

Optimizer adam(const AdamOptions& options) { return with_moments(Kind::adam, options); }
Optimizer adamw(const AdamOptions& options) { return with_moments(Kind::adamw, options); }
Optimizer lamb(const LambOptions& options) { return with_moments(Kind::lamb, options); }

Optimizer lars(const LarsOptions& options) {
  return checked({.kind = Kind::lars,
                  .learning_rate = options.learning_rate,
                  .momentum = options.momentum,
                  .weight_decay = options.weight_decay,
                  .trust = options.trust,
                  .schedule = options.schedule,
                  .groups = options.groups});
}

}  // namespace troika::optim
