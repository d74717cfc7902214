// The task graph of a run as a picture.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/inspection.h"
#include "cli/run_target.h"
#include "config/load_run.h"
#include "train/run_record.h"
#include "train/training_run.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

fs::path run_file_for(const fs::path& target) {
  if (is_run_folder(target)) return target / "run.toml";
  if (target.extension() == ".toml") return target;
  if (target.extension() == ".json" && is_run_folder(fs::absolute(target).parent_path()))
    return fs::absolute(target).parent_path() / "run.toml";
  throw Error(ErrorKind::usage,
              fmt::format("--dot draws the tasks of a run, but '{}' does not belong to one; give a "
                          "run folder, a run file, or the plan.json of a run folder",
                          target.string()));
}

}  // namespace

std::string draw_tasks(const fs::path& target) {
  fs::path file = run_file_for(target);
  RunConfig config = load_run(file.string());
  if (target.extension() == ".json") config.parallel.plan = {.name = target.string()};
  TrainHooks hooks{.costs = recorded_costs(RunFolder::open(fs::absolute(file).parent_path()))};
  auto source = [&](const zoo::Samples& samples) { return build_model(config.model, samples); };
  TrainingRun training(config, source, open_sets(config), hooks);
  std::string text;
  for (const zoo::NamedGraph& graph : training.model().graphs)
    text += to_dot(training.live().session().program(graph.name));
  return text;
}

}  // namespace troika::cli
