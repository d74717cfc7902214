#include "cli/bench_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::cli {
namespace {

/// Sizes that differ from the model's defaults. Published comparisons use them; they do not change.
struct Sizes {
  const char* model;
  std::int64_t batch;
  std::int64_t sequence = 0;  ///< 0: not a language model, or the default.
  std::int64_t classes = 0;   ///< 0: the default.
  bool adamw = false;
};

/// A GPT-2 whose step takes tens of milliseconds on one core.
constexpr const char* kSmallGpt = "gpt2-small";

ModelConfig model_of(const std::string& name) {
  if (name != kSmallGpt) return {.name = name};
  return {
      .name = "gpt2",
      .options = {
          {"layers", std::int64_t{4}}, {"width", std::int64_t{256}}, {"heads", std::int64_t{4}}}};
}

constexpr Sizes kSizes[] = {{"vgg16", 8},
                            {"resnet50", 8},
                            {"gpt2", 4, 256, 50'304, true},
                            {kSmallGpt, 4, 128, 50'304, true},
                            {"rnnlm", 32, 35, 10'000},
                            {"mlp", 256},
                            {"lenet", 64},
                            {"alexnet", 32},
                            {"bert", 4, 128, 0, true},
                            {"rnntc", 32, 200}};
constexpr std::int64_t kUsualBatch = 8;

Sizes sizes_of(const std::string& model) {
  auto found = std::ranges::find(kSizes, model, &Sizes::model);
  return found == std::end(kSizes) ? Sizes{"", kUsualBatch} : *found;
}

OptimizerConfig optimizer_of(const Sizes& sizes) {
  if (sizes.adamw)
    return {.kind = OptimizerConfig::Kind::adamw, .learning_rate = 1e-4, .weight_decay = 0.01};
  return {.kind = OptimizerConfig::Kind::sgd, .learning_rate = 1e-3, .momentum = 0.9};
}

KernelsConfig::Backend backend_of(const std::string& name) {
  auto backend = from_word<KernelsConfig::Backend>(name);
  if (!backend)
    throw Error(ErrorKind::usage,
                fmt::format("there is no backend '{}'; there are cpu and reference", name));
  return *backend;
}

}  // namespace

BenchCase make_bench_case(const BenchRequest& request) {
  Sizes sizes = sizes_of(request.model);
  std::int64_t batch = request.batch > 0 ? request.batch : sizes.batch;
  BenchCase made{.samples = {.batch = batch, .classes = sizes.classes, .shards = request.shards}};
  made.config.model = model_of(request.model);
  made.config.train.global_batch = batch;
  made.config.optimizer = optimizer_of(sizes);
  made.config.train.shards = request.shards;
  made.config.parallel.devices = request.devices;
  if (request.threads > 0) made.config.parallel.threads = request.threads;
  made.config.parallel.plan.name = !request.plan.empty() ? request.plan
                                   : request.devices > 1 ? "data"
                                                         : "single";
  if (!request.backend.empty()) made.config.kernels.backend = backend_of(request.backend);
  if (sizes.sequence > 0) made.samples.fields.push_back({"input", {{sizes.sequence}, DType::i32}});
  return made;
}

}  // namespace troika::cli
