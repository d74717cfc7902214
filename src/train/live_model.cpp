#include "train/live_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "graph/inference.h"
#include "profile/rates.h"
#include "train/compile.h"
#include "train/optimizer_rules.h"

namespace troika {

zoo::Model build_model(const ModelConfig& config, const zoo::Samples& samples) {
  zoo::ModelRequest request{.name = config.name, .samples = samples};
  for (const ModelOption& option : config.options)
    request.options.push_back({option.name, option.value});
  return zoo::build(request);
}

namespace {

/// A split may be of any of the model's graphs, but it must be of one.
void require_operators(const zoo::Model& model, const Strategy& strategy) {
  for (const auto& [name, split] : strategy.splits) {
    auto has = [&](const zoo::NamedGraph& named) {
      return std::ranges::find(named.graph.operators, name, &Operator::name) !=
             named.graph.operators.end();
    };
    if (!std::ranges::any_of(model.graphs, has))
      throw Error(ErrorKind::usage,
                  fmt::format("the strategy cannot run: the model '{}' has no operator '{}'",
                              model.name, name));
  }
}

}  // namespace

void LiveModel::add(const LowerRequest& request) {
  for (const Parameter& parameter : request.graph->parameters)
    parameters_.emplace(parameter.name, parameter);
  auto answer = [this](const KernelKey& key) { return machinery_.answer(key); };
  session_.add(compile_program(request, answer, kernels_));
  programs_.push_back(request.name);
}

void LiveModel::add_training(const zoo::Model& model, const RunConfig& config,
                             const Strategy& strategy) {
  strategy_ = strategy;
  require_operators(model, strategy);
  for (const zoo::NamedGraph& named : model.graphs) {
    OptimizerSpec optimizer = make_optimizer(config, named.graph);
    Strategy own = restricted(strategy, named.graph);
    add({.name = named.name,
         .graph = &named.graph,
         .strategy = &own,
         .machine = &machinery_.machine,
         .optimizer = &optimizer,
         .storage = session_.storage()});
  }
}

std::vector<TaskGraph> LiveModel::plan_training(const zoo::Model& model, const RunConfig& config,
                                                const Strategy& strategy,
                                                const Machine& machine) const {
  std::vector<TaskGraph> programs;
  KernelTable table = kernels_;
  auto answer = [this](const KernelKey& key) { return machinery_.backend->candidates(key); };
  std::vector<StoredSlice> storage;
  for (const zoo::NamedGraph& named : model.graphs) {
    OptimizerSpec optimizer = make_optimizer(config, named.graph);
    Strategy own = restricted(strategy, named.graph);
    programs.push_back(compile_program({.name = named.name,
                                        .graph = &named.graph,
                                        .strategy = &own,
                                        .machine = &machine,
                                        .optimizer = &optimizer,
                                        .storage = storage},
                                       answer, table));
    for (const StoredSlice& slice : stored_slices(programs.back())) storage.push_back(slice);
  }
  return programs;
}

std::vector<const TaskGraph*> LiveModel::programs() const {
  std::vector<const TaskGraph*> all;
  for (const std::string& name : programs_) all.push_back(&session_.program(name));
  return all;
}

void LiveModel::add_forward(const std::string& name, const Graph& graph,
                            const std::vector<std::string>& outputs) {
  Graph forward = inference(graph);
  if (forward.loss) {
    forward.outputs.push_back({"loss_sum", forward.loss->loss_sum});
    forward.outputs.push_back({"weight_sum", forward.loss->weight_sum});
  }
  // Where training has put the parameters, and with its micro-batches, which memory may need.
  Strategy alike = restricted(strategy_, forward);
  add({.name = name,
       .graph = &forward,
       .strategy = &alike,
       .machine = &machinery_.machine,
       .outputs = outputs,
       .storage = session_.storage()});
}

LiveModel::LiveModel(Machinery machinery)
    : machinery_(std::move(machinery)), session_(machinery_.local(), *machinery_.backend) {
  if (!machinery_.is_measured) return;
  // The rates are rows like any other, so that costs.json has all that choices rest on.
  auto answer = [this](const KernelKey& key) {
    std::vector<Candidate> candidates = machinery_.answer(key);
    kernels_.insert(key, candidates);
    return candidates;
  };
  for (DeviceSpec& device : machinery_.machine.devices)
    device = measure_rates(device, *machinery_.backend, answer);
}

void LiveModel::start() {
  if (machinery_.costs) machinery_.costs->finish();
  session_.start();
}

void LiveModel::run(const std::string& program) {
  if (machinery_.ranks == nullptr) return session_.run(program);
  machinery_.ranks->watched("a step of '" + program + "'", [&] { session_.run(program); });
}

std::vector<std::byte> initial_values(const Parameter& parameter, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(parameter.spec.bytes().count));
  RandomStream random{.key = seed, .stream = hash_text(parameter.name)};
  auto value = [&](std::int64_t element) -> double {
    auto at = static_cast<std::uint64_t>(element);
    switch (parameter.init.kind) {
      case Init::Kind::zeros:
        return 0;
      case Init::Kind::ones:
        return 1;
      case Init::Kind::normal:
        return parameter.init.scale * random.normal(at);
      case Init::Kind::uniform:
        return parameter.init.scale * (2 * random.uniform(at) - 1);
    }
    return 0;
  };
  dispatch(parameter.spec.dtype, [&]<class T>() {
    std::span<T> values{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(value(static_cast<std::int64_t>(i)));
  });
  return bytes;
}

void LiveModel::initialize(std::uint64_t seed) {
  for (const auto& [name, parameter] : parameters_)
    session_.load(name, initial_values(parameter, seed));
}

std::uint64_t LiveModel::choices_hash() const {
  std::uint64_t hash = hash_text(machinery_.device().kind());
  for (const std::string& name : programs_) {
    for (const Task& task : session_.program(name).tasks) {
      hash = hash_text(task.name, hash_text(task.choice.algorithm, hash));
      for (Layout layout : task.choice.layouts) hash = hash_text(to_string(layout), hash);
    }
  }
  return hash;
}

}  // namespace troika
