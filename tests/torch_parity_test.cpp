// Compares operators and models with PyTorch: they run here, and torch_parity.py computes the same
// from files. Skipped if the interpreter ($TROIKA_PYTHON, else python3) has no PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "checkpoint/safetensors.h"
#include "cli/testing/temporary_folder.h"
#include "config/load_run.h"
#include "kernels/cpu/cpu.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"
#include "setup/live_model.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t kSeed = 5;
constexpr int kNoTorch = 77, kNoInterpreter = 127;

using Tensors = std::map<std::string, HostTensor>;

struct Answer {
  int code;
  std::string text;

  bool unavailable() const { return code == kNoTorch || code == kNoInterpreter; }
};

/// The files that one run of the script compares.
class Oracle {
 public:
  void write(const std::string& name, const Tensors& tensors, const Metadata& metadata) {
    std::vector<TensorEntry> entries;
    std::vector<const HostTensor*> values;
    for (const auto& [tensor_name, tensor] : tensors) {
      entries.push_back({tensor_name, tensor.spec});
      values.push_back(&tensor);
    }
    auto copy = [&](std::size_t index, std::span<std::byte> bytes) {
      std::memcpy(bytes.data(), values[index]->bytes.data(), bytes.size());
    };
    save_safetensors(folder_.path() / (name + ".safetensors"), entries, copy, metadata);
    ++files_;
  }

  Answer ask() const {
    const char* chosen = std::getenv("TROIKA_PYTHON");
    fs::path script =
        fs::absolute("tests/torch_parity.py");  // tests run at the top of the checkout
    std::string command = fmt::format("'{}' '{}' '{}' 2>&1", chosen ? chosen : "python3",
                                      script.string(), folder_.path().string());
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
  }

  int files() const { return files_; }

 private:
  cli::TemporaryFolder folder_;
  int files_ = 0;
};

void expect_agreement(const Oracle& oracle, const Answer& answer) {
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr(fmt::format("compared {}\n", oracle.files())));
}

// Rows of the table of operators.

bool is_compared(const OpCase& row) {
  // PyTorch has no equivalent of the control word, and no boxes of several tensors.
  static const std::set<std::string_view> kOurs{"guard", "assemble"};
  return !kOurs.contains(name_of(row.op));
}

/// Adds the tensor as "given.x", "made.y", "given.grad.y" or "made.grad.x". Skips what a kernel
/// saves for itself.
void take(const OpTrial& trial, const Use& use, const std::string& prefix, Tensors& tensors) {
  auto at = static_cast<std::size_t>(use.slot);
  const Slot& slot = trial.signature.slots[at];
  if (slot.role == Role::saved || slot.role == Role::statistic) return;
  std::string name = prefix + (use.gradient ? "grad." : "") + slot.name;
  tensors.emplace(name, use.gradient ? trial.gradients[at] : trial.values[at]);
}

Tensors run_all_phases(const OpCase& row, const Backend& backend) {
  OpTrial trial(row, kSeed);
  Tensors tensors;
  auto take_uses = [&](const std::string& prefix, auto&& wanted) {
    for (const PhaseSpec& phase : trial.signature.phases)
      for (const Use& use : phase.uses)
        if (wanted(use)) take(trial, use, prefix, tensors);
  };
  take_uses("given.", [&](const Use& use) {
    bool output = trial.signature.slots[static_cast<std::size_t>(use.slot)].role == Role::output;
    return use.access != Access::write && (use.gradient || !output);
  });
  for (const PhaseSpec& phase : trial.signature.phases) trial.run(phase.phase, backend);
  take_uses("made.", [](const Use& use) { return use.access != Access::read; });
  return tensors;
}

void write_rows(Oracle& oracle, const Backend& backend, DType dtype, double tolerance) {
  for (const OpCase& row : op_cases()) {
    if (!is_compared(row)) continue;
    OpCase typed = in_dtype(row, dtype);
    oracle.write(fmt::format("{}-{}", row.name, to_string(dtype)), run_all_phases(typed, backend),
                 {{"operator", to_text(typed.op)},
                  {"position", fmt::format("[{}]", fmt::join(OpTrial(typed, kSeed).position, ","))},
                  {"tolerance", fmt::format("{}", tolerance)}});
  }
}

TEST(TorchParity, OperatorsComputeWhatTorchComputes) {
  Oracle oracle;
  write_rows(oracle, *make_reference_backend(), DType::f64, 1e-10);
  if (!cpu_library().empty()) write_rows(oracle, *make_cpu_backend({}), DType::f32, 1e-4);
  Answer answer = oracle.ask();
  if (answer.unavailable()) GTEST_SKIP() << answer.text;
  expect_agreement(oracle, answer);
}

// Whole models, through graph, lowering and executor.

struct ModelCase {
  zoo::ModelRequest request;
  Metadata options{};  ///< Options that the script cannot derive from the shapes.
};

std::vector<ModelCase> model_cases() {
  auto integer = [](std::int64_t value) { return zoo::OptionValue(value); };
  auto tokens = [](std::int64_t length) {
    return zoo::Samples{
        .batch = 3,
        .fields = {{"input", {{length}, DType::i32}}, {"target", {{length}, DType::i32}}},
        .classes = 17};
  };
  zoo::Samples images{
      .batch = 4,
      .fields = {{"input", {{3, 64, 64}, DType::f32}}, {"target", {{}, DType::i32}}},
      .classes = 5};
  return {
      {{.name = "resnet18", .options = {{"width", 0.125}}, .samples = images}},
      {{.name = "gpt2",
        .options = {{"layers", integer(2)}, {"heads", integer(3)}, {"width", integer(12)}},
        .samples = tokens(7)},
       {{"heads", "3"}}},
      {{.name = "rnnlm",
        .options = {{"layers", integer(2)}, {"hidden", integer(9)}},
        .samples = tokens(6)}},
  };
}

struct Kernels {
  std::string backend;
  DType dtype;
  double tolerance;
};

RunConfig plain_sgd(const Kernels& kernels) {
  std::string text =
      "[model]\nname = \"mlp\"\n[data]\ntrain = \"digits:train\"\n"
      "[optimizer]\nname = \"sgd\"\nmomentum = 0\nweight_decay = 0\n[parallel]\nthreads = 1\n";
  std::vector<std::string> overrides{"train.steps=1", "kernels.backend=" + kernels.backend,
                                     "kernels.dtype=" + std::string(to_string(kernels.dtype))};
  return parse_run(text, "torch.toml", overrides).config;
}

/// Tokens and targets below the classes, positive sample weights, normal pixels.
HostTensor input_values(const Tensor& input, std::int64_t classes) {
  HostTensor values(input.spec);
  RandomStream random{.key = kSeed, .stream = hash_text(input.name)};
  for (std::int64_t i = 0; i < input.spec.shape.elements(); ++i) {
    auto at = static_cast<std::uint64_t>(i);
    if (input.spec.dtype == DType::i32)
      values.set(i, static_cast<double>(random.below(at, static_cast<std::uint64_t>(classes))));
    else
      values.set(i, input.name == "weight" ? 0.5 + random.uniform(at) : random.normal(at));
  }
  return values;
}

/// Initial values with small changes, so that no scale is exactly one and no bias zero.
HostTensor parameter_values(const Parameter& parameter) {
  HostTensor values(parameter.spec);
  values.bytes = initial_values(parameter, kSeed);
  RandomStream random{.key = kSeed + 1, .stream = hash_text(parameter.name)};
  for (std::int64_t i = 0; i < parameter.spec.shape.elements(); ++i)
    values.set(i, values.get(i) + 0.1 * random.normal(static_cast<std::uint64_t>(i)));
  return values;
}

/// One step of a model, as tensors for the script.
class ModelStep {
 public:
  ModelStep(const ModelCase& row, const Kernels& kernels) : config_(plain_sgd(kernels)) {
    zoo::ModelRequest request = row.request;
    request.samples.dtype = kernels.dtype;
    model_ = zoo::build(request);
    live_.add_training(model_, config_, Strategy::single());
    live_.add_forward({"predict", &model_.train(), {"logits"}});
    live_.start();
    load(request.samples.classes);
    predict();
    train();
  }

  const Tensors& tensors() const { return tensors_; }

 private:
  /// Learning rate. A power of two, so that dividing the movement by it does not round, and large,
  /// so that the movement is not lost in the rounding of the weights.
  static constexpr double kRate = 1024;

  Session& session() { return live_.session(); }

  void load(std::int64_t classes) {
    const Graph& graph = model_.train();
    for (TensorId id : graph.inputs)
      tensors_.emplace("input." + graph[id].name, input_values(graph[id], classes));
    for (const Parameter& parameter : graph.parameters) {
      HostTensor values = parameter_values(parameter);
      session().load(parameter.name, values.bytes);
      tensors_.emplace("parameter." + parameter.name, values);
    }
  }

  /// Programs share their arena, so each is given its inputs right before it runs.
  void run(const std::string& program) {
    const Graph& graph = model_.train();
    for (TensorId id : graph.inputs)
      session().write_input(program, graph[id].name, tensors_.at("input." + graph[id].name).bytes);
    session().run(program);
  }

  void predict() {
    const Graph& graph = model_.train();
    auto found = std::ranges::find(graph.outputs, "logits", &NamedTensor::name);
    HostTensor logits(graph[found->tensor].spec);
    run("predict");
    session().read_output("predict", "logits", logits.bytes);
    tensors_.emplace("made.logits", logits);
  }

  void train() {
    session().write_scalar(Scalar::learning_rate, kRate);
    session().write_scalar(Scalar::update_step, 1);
    run("train");
    HostTensor loss(f64({1}));
    loss.set(0, session().read_control(Control::loss));
    tensors_.emplace("made.loss", loss);
    for (const Parameter& parameter : model_.train().parameters) {
      HostTensor after(parameter.spec);
      session().store(parameter.name, after.bytes);
      if (parameter.state)
        tensors_.emplace("made.state." + parameter.name, after);
      else
        tensors_.emplace("made.gradient." + parameter.name, movement(parameter.name, after));
    }
  }

  /// Returns (before - after) / rate, which is the gradient of the mean loss.
  HostTensor movement(const std::string& name, const HostTensor& after) {
    const HostTensor& before = tensors_.at("parameter." + name);
    HostTensor gradient(f64(after.spec.shape));
    for (std::int64_t i = 0; i < after.spec.shape.elements(); ++i)
      gradient.set(i, (before.get(i) - after.get(i)) / kRate);
    return gradient;
  }

  RunConfig config_;
  LiveModel live_{set_up_runtime(config_.kernels, config_.parallel)};
  zoo::Model model_;
  Tensors tensors_;
};

TEST(TorchParity, ModelsHaveTorchsLogitsGradientsAndStatistics) {
  std::vector<Kernels> all{{"reference", DType::f64, 1e-9}};
  if (!cpu_library().empty()) all.push_back({"cpu", DType::f32, 1e-3});
  Oracle oracle;
  for (const Kernels& kernels : all) {
    for (const ModelCase& row : model_cases()) {
      Metadata metadata = row.options;
      metadata["model"] = row.request.name;
      metadata["tolerance"] = fmt::format("{}", kernels.tolerance);
      oracle.write(row.request.name + "-" + kernels.backend, ModelStep(row, kernels).tensors(),
                   metadata);
    }
  }
  Answer answer = oracle.ask();
  if (answer.unavailable()) GTEST_SKIP() << answer.text;
  expect_agreement(oracle, answer);
}

}  // namespace
}  // namespace troika
