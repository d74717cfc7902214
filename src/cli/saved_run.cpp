#include "cli/saved_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/outside_writes.h"
#include "config/load_run.h"
#include "data/held_out.h"

namespace troika::cli {
namespace fs = std::filesystem;

namespace {

RunConfig config_of(const fs::path& checkpoint, const RunState& state) {
  // runs/NAME/checkpoints/step-N belongs to runs/NAME/run.toml.
  fs::path file =
      fs::absolute(checkpoint).lexically_normal().parent_path().parent_path() / "run.toml";
  RunConfig config;
  if (fs::exists(file))
    config = load_run(file.string());
  else if (!state.run.empty())
    config = parse_run(state.run, checkpoint.string()).config;
  else
    throw Error(ErrorKind::file,
                fmt::format("'{}', which describes the model of '{}', is missing; restore it",
                            file.string(), checkpoint.string()));
  // A run file from another user must not choose where this user writes.
  if (writes_cache_outside(file.parent_path(), config)) config.kernels.cache = "auto";
  return config;
}

/// From the training data, for checkpoints of earlier versions, which do not store it.
data::Encoding learn_encoding(const SavedRun& run) try {
  RunConfig train_only = run.config;
  train_only.data.test.clear();
  train_only.data.validation.clear();
  train_only.data.augment.clear();
  const data::Encoding unnormalised{};  // as all targets were in those versions
  return open_sets(train_only, unnormalised).train->encoding();
} catch (const Error& error) {
  throw error.within(
      fmt::format("{} was written by an earlier version and does not say how samples are read, so "
                  "the training data is needed",
                  run.checkpoint.string()));
}

}  // namespace

SavedRun open_saved_run(const fs::path& path, Pick pick) {
  if (!fs::exists(path))
    throw Error(ErrorKind::file, fmt::format("'{}' does not exist", path.string()));
  SavedRun run;
  run.checkpoint = find_checkpoint(path, pick);
  Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  RunState state = read_state(checkpoint);
  run.step = checkpoint.step();
  run.config = config_of(run.checkpoint, state);
  run.samples = state.samples ? *state.samples : learn_encoding(run);
  return run;
}

std::unique_ptr<data::Dataset> open_samples(const SavedRun& run, const std::string& uri) {
  const std::string& chosen = uri.empty() ? run.config.data.test : uri;
  if (chosen.empty())
    throw Error(ErrorKind::usage,
                "the run has no test set; name samples with --data, such as --data npy:new.npy");
  return open_like(run.samples, chosen, run.config);
}

EvaluationSamples open_evaluation_samples(const SavedRun& run, const std::string& uri) {
  const DataConfig& data = run.config.data;
  if (!uri.empty() || !data.test.empty() || data.validation.empty())
    return {.name = uri.empty() ? data.test : uri,
            .set = Metric::Set::test,
            .samples = open_samples(run, uri)};
  TrainingSets sets{.train = open_like(run.samples, data.train, run.config)};
  open_validation(sets, run.config);
  bool is_part = data::is_part(data.validation);
  return {.name = is_part ? fmt::format("{} of {}", data.validation, data.train) : data.validation,
          .set = Metric::Set::validation,
          .samples = std::move(sets.validation)};
}

zoo::Model build_saved(const SavedRun& run, std::int64_t batch) {
  zoo::Samples samples = samples_of(run.samples, run.config, batch);
  samples.shards = 1;  // the running statistics have seen all shards
  return build_model(run.config.model, samples);
}

void load_saved(const SavedRun& run, LiveModel& live) {
  std::vector<std::string> missing = load_weights(run.checkpoint, live, run.samples);
  if (!missing.empty())
    throw Error(ErrorKind::file, fmt::format("'{}' has no parameter '{}' of the shape that "
                                             "run.toml asks for; restore the original run.toml",
                                             run.checkpoint.string(), missing.front()));
}

}  // namespace troika::cli
