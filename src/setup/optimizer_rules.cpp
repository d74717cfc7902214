#include "setup/optimizer_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "optim/match.h"

namespace troika {
namespace {

struct GroupValues {
  double weight_decay;
  double rate_factor;
};

/// The first group that matches decides; without one, the values of [optimizer] apply.
GroupValues group_of(const OptimizerConfig& config, const std::string& name) {
  for (const GroupConfig& group : config.groups) {
    if (matches(group.match, name))
      return {group.weight_decay.value_or(config.weight_decay), group.learning_rate_factor};
  }
  return {config.weight_decay, 1};
}

Op rule_of(const OptimizerConfig& config, const GroupValues& group) {
  using enum OptimizerConfig::Kind;
  switch (config.kind) {
    case sgd:
      return Sgd{.momentum = config.momentum,
                 .nesterov = config.nesterov,
                 .weight_decay = group.weight_decay,
                 .rate_factor = group.rate_factor};
    case adam:
    case adamw:
      return Adam{.beta1 = config.beta1,
                  .beta2 = config.beta2,
                  .epsilon = config.epsilon,
                  .weight_decay = group.weight_decay,
                  .decoupled = config.kind == adamw,
                  .rate_factor = group.rate_factor};
    case lars:
      return Lars{.momentum = config.momentum,
                  .weight_decay = group.weight_decay,
                  .trust = config.trust,
                  .rate_factor = group.rate_factor};
    case lamb:
      return Lamb{.beta1 = config.beta1,
                  .beta2 = config.beta2,
                  .epsilon = config.epsilon,
                  .weight_decay = group.weight_decay,
                  .rate_factor = group.rate_factor};
  }
  throw Bug("an optimizer without a rule");
}

bool freeze_matching(Graph& graph, const std::string& pattern) {
  bool found = false;
  for (Parameter& parameter : graph.parameters) {
    // Running statistics are not frozen: they have no gradient and follow the data.
    if (parameter.state || !matches(pattern, parameter.name)) continue;
    parameter.trained = false;
    found = true;
  }
  return found;
}

RateShape shape_of(ScheduleConfig::Kind kind) {
  switch (kind) {
    case ScheduleConfig::Kind::constant:
      return RateShape::constant;
    case ScheduleConfig::Kind::step:
      return RateShape::step;
    case ScheduleConfig::Kind::polynomial:
      return RateShape::polynomial;
    case ScheduleConfig::Kind::cosine:
      return RateShape::cosine;
  }
  throw Bug("a schedule without a shape");
}

}  // namespace

OptimizerSpec make_optimizer(const RunConfig& config, const Graph& graph) {
  OptimizerSpec spec{
      .guard_gradient = config.train.effective_guard() == TrainConfig::Guard::gradient,
      .clip_norm = config.train.clip_norm.value_or(0)};  // 0: no clipping
  for (const Parameter& parameter : graph.parameters) {
    if (!parameter.trained) continue;
    // Running statistics are parameters without a gradient; their update averages over the shards.
    if (parameter.state)
      spec.rules.emplace(parameter.name, RunningAverage{.shards = config.train.shards});
    else
      spec.rules.emplace(parameter.name,
                         rule_of(config.optimizer, group_of(config.optimizer, parameter.name)));
  }
  return spec;
}

void freeze_parameters(zoo::Model& model, std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (zoo::NamedGraph& named : model.graphs) found |= freeze_matching(named.graph, pattern);
    if (!found)
      throw Error(
          ErrorKind::usage,
          fmt::format("train.freeze: no parameter of '{}' matches '{}'; the first one is '{}'",
                      model.name, pattern, model.train().parameters.front().name));
  }
  // Each graph is a program with updates of its own, so each needs a parameter to train.
  for (const zoo::NamedGraph& named : model.graphs) {
    if (std::ranges::none_of(named.graph.parameters,
                             [](const Parameter& p) { return p.trained && !p.state; }))
      throw Error(ErrorKind::usage,
                  fmt::format("train.freeze: nothing of '{}' is left to train", model.name));
  }
}

RateSchedule make_rate_schedule(const OptimizerConfig& config, const RunLength& length) {
  const ScheduleConfig& from = config.schedule;
  RateSchedule schedule{.base = config.learning_rate,
                        .shape = shape_of(from.kind),
                        .warmup_steps = from.warmup.count == 0 ? 0 : steps_of(from.warmup, length),
                        .factor = from.factor,
                        .power = from.power,
                        .final_part = from.final_part};
  if (from.every) schedule.every_steps = steps_of(*from.every, length);
  return schedule;
}

}  // namespace troika
