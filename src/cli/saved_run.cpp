#include "cli/saved_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/load_run.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

bool is_language(const std::string& uri) {
  return uri.starts_with("text:") || uri.starts_with("tokens:");
}

/// Before the samples are opened, which would complain about normalisation instead.
void check_kind(const DataConfig& data) {
  if (is_language(data.train) == is_language(data.test)) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the model was trained on samples of '{}', and '{}' is another kind of data",
                  data.train, data.test));
}

void check_fit(const data::Dataset& train, const data::Dataset& given, const std::string& uri) {
  std::span<const data::Field> wanted = train.fields(), there = given.fields();
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (at < there.size() && there[at] == wanted[at]) continue;
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained on samples with '{}' {}, but '{}' has {}",
                            wanted[at].name, to_string(wanted[at].spec), uri,
                            at < there.size() ? to_string(there[at].spec) : "none"));
  }
  if (given.classes() > train.classes())
    throw Error(ErrorKind::usage, fmt::format("'{}' has {} classes, but the model knows {}", uri,
                                              given.classes(), train.classes()));
  const data::Vocabulary *known = train.vocabulary(), *used = given.vocabulary();
  if (known != nullptr && used != nullptr && *known != *used)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "'{}' is made of other characters than the text that the model was trained on; take "
            "a range of one file for each",
            uri));
}

}  // namespace

SavedRun open_saved_run(const fs::path& path) {
  if (!fs::exists(path))
    throw Error(ErrorKind::file, fmt::format("{} does not exist", path.string()));
  SavedRun run;
  run.checkpoint = find_checkpoint(path);
  run.step = Checkpoint::open(run.checkpoint).step();
  fs::path file =
      fs::absolute(run.checkpoint).lexically_normal().parent_path().parent_path() / "run.toml";
  if (!fs::exists(file))
    throw Error(ErrorKind::file,
                fmt::format("{} says how the model of {} was made, but it is not there",
                            file.string(), run.checkpoint.string()));
  run.config = load_run(file.string());
  return run;
}

TrainingSets open_fitting_sets(SavedRun& run, const std::string& uri) {
  if (!uri.empty()) run.config.data.test = uri;
  if (run.config.data.test.empty())
    throw Error(ErrorKind::usage, "the run has no test samples; name some with --data URI");
  // Training samples are only looked at here, so nothing is changed about them.
  run.config.data.augment.clear();
  check_kind(run.config.data);
  TrainingSets sets = open_sets(run.config);
  check_fit(*sets.train, *sets.test, run.config.data.test);
  return sets;
}

zoo::Model build_saved(const SavedRun& run, const data::Dataset& train, std::int64_t batch) {
  zoo::Samples samples = samples_of(train, run.config, batch);
  samples.shards = 1;  // the running statistics have seen all shards
  return build_model(run.config.model, samples);
}

void load_saved(const SavedRun& run, LiveModel& live) {
  std::vector<std::string> missing = load_weights(run.checkpoint, live);
  if (!missing.empty())
    throw Error(
        ErrorKind::file,
        fmt::format(
            "{} has no parameter '{}' of the shape that run.toml asks for; was run.toml edited?",
            run.checkpoint.string(), missing.front()));
}

}  // namespace troika::cli
