#include "cli/saved_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/outside_writes.h"
#include "config/load_run.h"

namespace troika::cli {
namespace fs = std::filesystem;

SavedRun open_saved_run(const fs::path& path, Pick pick) {
  if (!fs::exists(path))
    throw Error(ErrorKind::file, fmt::format("{} does not exist", path.string()));
  SavedRun run;
  run.checkpoint = find_checkpoint(path, pick);
  run.step = Checkpoint::open(run.checkpoint).step();
  fs::path file =
      fs::absolute(run.checkpoint).lexically_normal().parent_path().parent_path() / "run.toml";
  if (!fs::exists(file))
    throw Error(ErrorKind::file,
                fmt::format("{} says how the model of {} was made, but it is not there",
                            file.string(), run.checkpoint.string()));
  run.config = load_run(file.string());
  // Somebody else's run file must not choose where this user writes.
  if (writes_cache_outside(file.parent_path(), run.config)) run.config.kernels.cache = "auto";
  return run;
}

TrainingSets open_fitting_sets(SavedRun& run, const std::string& uri) {
  if (!uri.empty()) run.config.data.test = uri;
  if (run.config.data.test.empty())
    throw Error(ErrorKind::usage, "the run has no test samples; name some with --data URI");
  // Training samples are only looked at here, so nothing is changed about them.
  run.config.data.augment.clear();
  return open_sets(run.config);
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
