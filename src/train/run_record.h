// What a run says about itself: the table before the first step, and the files of the run folder
// beside metrics.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "setup/live_model.h"
#include "train/course.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/training_run.h"

namespace troika {

struct RunDescription {
  const RunConfig& config;
  const zoo::Model& model;
  const TrainingSets& sets;
  const Course& course;
  const LiveModel& live;
};

/// Model, parameters, data, batch, plan, device, predicted memory and step time.
std::vector<Fact> describe_run(const RunDescription& run);

/// The kernel times that a run was made with; none when they cannot be read, which `resume` then
/// notices by the choices.
CostFile recorded_costs(const RunFolder& folder);

/// How the program was started, for env.json.
struct Invocation {
  std::string version;
  std::string command;  ///< As a shell would take it.
};

/// run.toml, plan.json, costs.json and env.json.
void write_record(const RunFolder& folder, const RunConfig& config, TrainingRun& training,
                  const Invocation& invocation = {});

/// The last whole step of a model's first graph as a Chrome trace, with its prediction below.
std::string trace_of_run(const LiveModel& live, const zoo::Model& model);

}  // namespace troika
