// Describes a run: the table shown before the first step, and the files that its folder holds
// besides metrics and checkpoints.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "setup/live_model.h"
#include "taskgraph/memory_table.h"
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
  const std::vector<MemoryTable>& memory;  ///< By device.
};

/// Returns the table: model, parameters, data, batch, plan, device, predicted memory and step time.
std::vector<Fact> describe_run(const RunDescription& run);

/// Returns the kernel times that an earlier run used; empty if they cannot be read. TrainingRun's
/// resume then warns if the choice of kernels differs.
KernelTable recorded_costs(const RunFolder& folder);

/// How the program was started, for env.json.
struct Invocation {
  std::string version;
  std::string command;  ///< Quoted for a shell.
};

/// Writes run.toml, plan.json, costs.json, links.json and env.json. A run that is resumed writes
/// them again, so they describe the part of the run that began last.
void write_record(const RunFolder& folder, const RunConfig& config, TrainingRun& training,
                  const Invocation& invocation = {});

/// The steps of a run from one start or resume to the next.
struct RunPart {
  std::string plan_hash;        ///< As in RunState.
  std::int64_t first_step = 0;  ///< Steps before this part.
  std::int64_t last_step = 0;   ///< Steps after it.
  std::int64_t batch = 0;       ///< Of its last step.
};

/// A step of the model's first graph, by rank.
struct MeasuredSteps {
  const zoo::Model& model;
  const std::vector<Timeline>& ranks;
};

/// Returns the step as a Chrome trace, together with its prediction. The trace's `otherData` says
/// which part of the run it is of.
std::string trace_of_run(const LiveModel& live, const MeasuredSteps& step, const RunPart& part);

}  // namespace troika
