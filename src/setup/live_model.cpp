#include "setup/live_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "graph/inference.h"
#include "profile/rates.h"
#include "setup/optimizer_rules.h"
#include "strategy/cut_strategy.h"
#include "strategy/message_names.h"
#include "taskgraph/memory_table.h"

namespace troika {

namespace {

void require_messages(const zoo::Model& model, const Strategy& strategy) {
  std::deque<Graph> graphs;  // which the names borrow
  std::vector<MessageNames> known;
  for (const zoo::NamedGraph& named : model.graphs) {
    graphs.push_back(graph_of_messages(strategy, named.graph));
    known.emplace_back(graphs.back(), strategy.micro_batches);
  }
  for (const std::string& name : strategy.sync.message_order) {
    auto lacks = [&](const MessageNames& names) { return names.why_none(name).has_value(); };
    if (std::ranges::all_of(known, lacks))
      throw Error(ErrorKind::usage, "the strategy cannot run: " + *known.front().why_none(name));
  }
}

}  // namespace

zoo::Model build_model(const ModelConfig& config, const zoo::Samples& samples) {
  zoo::ModelRequest request{.name = config.name, .samples = samples};
  for (const ModelOption& option : config.options)
    request.options.push_back({option.name, option.value});
  return zoo::build(request);
}

bool is_projection(const zoo::Model& model, const Strategy& strategy, const std::string& name) {
  return std::ranges::any_of(model.graphs, [&](const zoo::NamedGraph& named) {
    return is_projection_of(layer_cuts(strategy, named.graph), name);
  });
}

void require_names(const zoo::Model& model, const Strategy& strategy) {
  auto require = [&](const char* kind, const std::string& name, auto&& list_in) {
    for (const zoo::NamedGraph& named : model.graphs)
      for (const auto& own : list_in(named.graph))
        if (own.name == name) return;
    throw Error(ErrorKind::usage,
                fmt::format("the strategy cannot run: the model '{}' has no {} '{}'", model.name,
                            kind, name));
  };
  for (const auto& [name, split] : strategy.splits)
    if (!is_projection(model, strategy, name))
      require(
          "operator", name, [](const Graph& graph) -> auto& { return graph.operators; });
  for (const std::vector<std::string>& bucket : strategy.sync.buckets)
    for (const std::string& name : bucket)
      require(
          "parameter", name, [](const Graph& graph) -> auto& { return graph.parameters; });
  if (!strategy.sync.message_order.empty()) require_messages(model, strategy);
}

/// Each parameter with its gradient and state; each activation and its gradient share a buffer with
/// others, so it counts once.
Bytes step_bytes(const zoo::Model& model, std::int64_t devices) {
  Bytes most{};
  for (const zoo::NamedGraph& named : model.graphs) {
    Bytes parameters{}, tensors{};
    for (const Parameter& parameter : named.graph.parameters)
      parameters += parameter.spec.bytes() * (parameter.trained ? 3 : 1);
    for (const Tensor& tensor : named.graph.tensors) tensors += tensor.spec.bytes();
    most = std::max(most, parameters + Bytes{tensors.count / devices});
  }
  return most;
}

void refuse(const Infeasible& infeasible) {
  throw Error(ErrorKind::usage, "the strategy cannot run: " + infeasible.reason);
}

void add_rows(const MissingRows& missing, const KernelAnswer& answer, KernelTable& table) {
  std::vector<std::vector<Candidate>> rows = answer(missing.rows);
  for (std::size_t at = 0; at < missing.rows.size(); ++at)
    table.insert(missing.rows[at], rows.at(at));
}

TaskGraph compile_program(const LowerRequest& request, const KernelAnswer& answer,
                          KernelTable& table) {
  // Lowering stops at kernels that the table lacks. Rows of tasks decide about layouts, and these
  // about the reorders that need rows next, hence the loop. It ends because rows are only added.
  while (true) {
    LowerResult result = lower(request, table);
    if (auto* graph = std::get_if<TaskGraph>(&result)) return std::move(*graph);
    if (auto* infeasible = std::get_if<Infeasible>(&result)) refuse(*infeasible);
    add_rows(std::get<MissingRows>(result), answer, table);
  }
}

namespace {

/// Parameters that several programs use, in which operators split them differently.
std::set<std::string> differently_split(const zoo::Model& model, const Strategy& strategy) {
  // By parameter: the splits in the first program that uses it.
  std::map<std::string, std::vector<Split>> first;
  std::set<std::string> found;
  for (const zoo::NamedGraph& named : model.graphs) {
    std::map<std::string, std::vector<Split>> own;
    for (const Operator& op : named.graph.operators) {
      const Split& split = split_of(strategy, op.name);
      for (ParameterId id : op.parameters) {
        std::vector<Split>& splits = own[named.graph[id].name];
        if (std::ranges::count(splits, split) == 0) splits.push_back(split);
      }
    }
    for (auto& [parameter, splits] : own) {
      auto [known, is_new] = first.try_emplace(parameter, splits);
      if (!is_new && known->second != splits) found.insert(parameter);
    }
  }
  return found;
}

/// Parameters of the graph that another one of the model trains, and this one does not.
std::set<std::string> updated_elsewhere(const zoo::Model& model, const Graph& graph) {
  std::set<std::string> found;
  for (const zoo::NamedGraph& other : model.graphs)
    for (const Parameter& parameter : other.graph.parameters)
      if (parameter.trained) found.insert(parameter.name);
  for (const Parameter& parameter : graph.parameters)
    if (parameter.trained) found.erase(parameter.name);
  return found;
}

using TakeRequest = std::function<void(const LowerRequest&)>;

/// Builds lowering requests. `take` must not keep the request: it points to local variables.
struct Lowering {
  const Strategy& strategy;
  const Machine& machine;
  const LinkCosts& links;
  std::vector<DeviceId> devices{};  ///< As in LowerRequest.

  /// One of the model's programs.
  void training(const zoo::Model& model, const zoo::NamedGraph& named, const RunConfig& config,
                const std::vector<StateEntry>& storage, const TakeRequest& take) const {
    OptimizerSpec optimizer = make_optimizer(config, named.graph);
    Strategy own = restricted(strategy, named.graph);
    take({.name = named.name,
          .graph = &named.graph,
          .strategy = &own,
          .machine = &machine,
          .optimizer = &optimizer,
          .storage = storage,
          .plain = differently_split(model, strategy),
          .updated_elsewhere = updated_elsewhere(model, named.graph),
          .devices = devices,
          .links = &links});
  }

  /// Keeps the parameters where training stores them, and its micro-batches, without which the
  /// activations may not fit.
  void forward(const ForwardProgram& program, const std::vector<StateEntry>& storage,
               const TakeRequest& take) const {
    Graph graph = inference(*program.graph);
    // In training the sums are internal to the loss. Evaluation reads them to average over batches.
    if (graph.loss) {
      graph.outputs.push_back({"loss_sum", graph.loss->loss_sum});
      graph.outputs.push_back({"weight_sum", graph.loss->weight_sum});
    }
    Strategy own = restricted(strategy, graph);
    take({.name = program.name,
          .graph = &graph,
          .strategy = &own,
          .machine = &machine,
          .outputs = program.outputs,
          .storage = storage,
          .devices = devices,
          .links = &links});
  }
};

/// The devices of this process; empty if they are all of the machine.
std::vector<DeviceId> own_devices(const RuntimeSetup& setup) {
  std::vector<DeviceId> own;
  for (const auto& [id, device] : setup.local().devices) own.push_back(id);
  return own.size() < setup.machine.devices.size() ? own : std::vector<DeviceId>{};
}

}  // namespace

void LiveModel::add(const LowerRequest& request) {
  for (const Parameter& parameter : request.graph->parameters)
    parameters_.emplace(parameter.name, parameter);
  auto answer = [this](const std::vector<KernelRequest>& rows) { return setup_.answer(rows); };
  session_.add(compile_program(request, answer, kernels_));
  programs_.push_back(request.name);
  if (request.devices.empty()) return;
  ProgramSource& source = sources_[request.name];
  source = {*request.graph, *request.strategy,        {}, request.outputs, request.storage,
            request.plain,  request.updated_elsewhere};
  if (request.optimizer != nullptr) source.optimizer = *request.optimizer;
}

TaskGraph LiveModel::whole_program(const std::string& name) const {
  auto found = sources_.find(name);
  if (found == sources_.end()) return session_.program(name);
  const ProgramSource& source = found->second;
  LowerResult result = lower({.name = name,
                              .graph = &source.graph,
                              .strategy = &source.strategy,
                              .machine = &setup_.machine,
                              .optimizer = source.optimizer ? &*source.optimizer : nullptr,
                              .outputs = source.outputs,
                              .storage = source.storage,
                              .plain = source.plain,
                              .updated_elsewhere = source.updated_elsewhere,
                              .links = &setup_.links},
                             kernels_);
  // The rows of all devices are there since the program was added.
  TROIKA_CHECK(std::holds_alternative<TaskGraph>(result), "a program that cannot be lowered again");
  return std::get<TaskGraph>(std::move(result));
}

void LiveModel::add_training(const zoo::Model& model, const RunConfig& config,
                             const Strategy& strategy) {
  // Kept for add_forward(), which must find the parameters where training stores them.
  strategy_ = strategy;
  require_names(model, strategy);
  if (setup_.costs != nullptr && programs_.empty())
    setup_.costs->meet_step(step_bytes(model, std::ssize(setup_.machine.devices)));
  Lowering lowering{strategy, setup_.machine, setup_.links, own_devices(setup_)};
  for (const zoo::NamedGraph& named : model.graphs)
    lowering.training(model, named, config, session_.state(),
                      [this](const LowerRequest& request) { add(request); });
}

std::vector<TaskGraph> LiveModel::plan_programs(const RunPrograms& run, const Strategy& strategy,
                                                const Machine& machine) const {
  std::vector<TaskGraph> programs;
  // A copy: rows by rule must not replace measurements that are still to be made.
  KernelTable table = kernels_;
  auto answer = [this](const std::vector<KernelRequest>& missing) {
    std::vector<std::vector<Candidate>> rows;
    for (const KernelRequest& row : missing) rows.push_back(setup_.backend->candidates(row.key));
    return rows;
  };
  // The first program decides where a parameter is stored, as it does when programs are added.
  std::vector<StateEntry> storage;
  auto compile = [&](const LowerRequest& request) {
    programs.push_back(compile_program(request, answer, table));
    add_entries(storage, programs.back().storage);
  };
  Lowering lowering{strategy, machine, setup_.links};
  for (const zoo::Model* model : run.models)
    for (const zoo::NamedGraph& named : model->graphs)
      lowering.training(*model, named, run.config, storage, compile);
  if (run.forward) lowering.forward(*run.forward, storage, compile);
  return programs;
}

std::vector<const TaskGraph*> LiveModel::programs() const {
  std::vector<const TaskGraph*> all;
  for (const std::string& name : programs_) all.push_back(&session_.program(name));
  return all;
}

void LiveModel::add_forward(const ForwardProgram& program) {
  Lowering{strategy_, setup_.machine, setup_.links, own_devices(setup_)}.forward(
      program, session_.state(), [this](const LowerRequest& request) { add(request); });
}

LiveModel::LiveModel(RuntimeSetup setup)
    : setup_(std::move(setup)), session_(setup_.local(), *setup_.backend) {
  if (!setup_.is_measured) return;
  // Rates are stored as kernel rows, so that costs.json holds everything that choices depend on.
  setup_.machine = with_rates(setup_.machine, [&](const DeviceSpec& device) {
    return measure_rates(device, *setup_.backend, [&](const KernelKey& key) {
      KernelRequest row{device.kind, key};
      std::vector<Candidate> candidates = setup_.answer({row}).front();
      kernels_.insert(row, candidates);
      return candidates;
    });
  });
}

void LiveModel::start() {
  // Frees the memory of measurements, which the session needs now, and saves their results.
  if (setup_.costs) {
    setup_.costs->finish();
    KernelRows& rows = kernels_.of(setup_.device().kind());
    rows.made_by = measured_by();
    rows.memory_rates = setup_.costs->memory_rates();
  }
  session_.start();
  // Every refusal for lack of memory relies on this prediction, so it must not drift.
  for (const auto& [device, driver] : setup_.local().devices)
    TROIKA_CHECK_EQ(session_.allocated(device).count, memory_of(programs(), device).total().count);
}

/// Watched, so that the error about a lost peer names the program.
void LiveModel::run(const std::string& program) {
  setup_.ranks->watched("a step of '" + program + "'", [&] { session_.run(program); });
}

std::vector<std::byte> initial_values(const Parameter& parameter, std::uint64_t seed) {
  return initial_values(parameter, Region::whole(parameter.spec.shape), seed);
}

std::vector<std::byte> initial_values(const Parameter& parameter, const Region& region,
                                      std::uint64_t seed) {
  // An element is a function of (seed, name, index in the whole tensor), so each device draws its
  // own slice and any strategy starts from the same weights.
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
  const TensorSpec& spec = parameter.spec;
  std::vector<std::byte> bytes(
      static_cast<std::size_t>((size_of(spec.dtype) * region.elements()).count));
  dispatch(spec.dtype, [&]<class T>() {
    T* next = reinterpret_cast<T*>(bytes.data());
    for_each_run(spec.shape, region, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t at = first; at < first + count; ++at) *next++ = static_cast<T>(value(at));
    });
  });
  return bytes;
}

void LiveModel::initialize(std::uint64_t seed) {
  for (const auto& [name, parameter] : parameters_) {
    Region made;  // replicas hold the same region, so its values are drawn once
    std::vector<std::byte> values;
    for (const StoredSlice& slice : session_.slices_here(name)) {
      if (values.empty() || made != slice.region)
        values = initial_values(parameter, made = slice.region, seed);
      session_.load(slice, values);
    }
  }
}

std::uint64_t LiveModel::choices_hash() const {
  // Algorithms and layouts decide the order of sums, and with it the last bits of results. Hashes
  // of tasks are added up, so that it does not matter which process has which.
  std::uint64_t own = 0;
  for (const std::string& name : programs_)
    for (const Task& task : session_.program(name).tasks) {
      std::uint64_t hash = hash_text(task.name, hash_text(task.choice.algorithm, hash_text(name)));
      hash = mix(hash, static_cast<std::uint64_t>(task.device.value));
      for (Layout layout : task.choice.layouts) hash = hash_text(to_string(layout), hash);
      own += hash;
    }
  std::uint64_t sum = hash_text(setup_.device().kind());
  for (const std::string& text : setup_.ranks->exchange(std::to_string(own)))
    sum += std::stoull(text);
  return sum;
}

}  // namespace troika
