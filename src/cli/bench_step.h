// Times training steps of a model on random data, task by task.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/bench_case.h"
#include "runtime/executor.h"
#include "setup/ranks.h"
#include "taskgraph/memory_table.h"

namespace troika::cli {

/// All tasks of one kind of operator, phase and algorithm; or one task.
struct TaskFigures {
  std::string name;
  std::string kind;  ///< Operator and phase.
  std::string algorithm;
  std::string layouts;  ///< Layouts of the operands, each once.
  std::int64_t tasks = 0;
  double milliseconds = 0;  ///< Per step, median over the repeats.
  double predicted_ms = 0;  ///< Of kernels; messages have no time of their own.
  Flops flops{};
  Bytes bytes{};
  double limit_ms = 0;  ///< At the rates of the machine: arithmetic or memory, whichever is longer.
  std::vector<std::string> why;  ///< The kernels it was chosen from, and those that declined.
};

struct StepFigures {
  std::string model;
  std::string device;
  std::int64_t batch = 0;
  int threads = 0;
  int devices = 1;
  std::vector<double> repeats;  ///< Milliseconds of each timed step.
  double step_ms = 0;           ///< Their median.
  double predicted_ms = 0;      ///< By the simulator, from the times of kernels and links.
  double samples_per_second = 0;
  double items_per_second = 0;
  double gflops = 0;
  Bytes peak{};                            ///< Most memory that the process ever held.
  std::map<DeviceId, StepLedger> ledgers;  ///< For the last step.
  DeviceSpec limits;                       ///< Rates measured in the same run.
  double limit_ms = 0;                     ///< Sum over all tasks.
  MemoryTable memory;                      ///< As predicted.
  std::vector<TaskFigures> tasks;          ///< In the order of the step.
};

/// With ranks each of them times its own devices, all steps together.
StepFigures measure_step(const BenchRequest& request, Ranks& ranks = sole_rank());

double median(std::vector<double> values);

/// Tasks of equal operator, phase and algorithm added up, longest first.
std::vector<TaskFigures> group_tasks(const std::vector<TaskFigures>& tasks);

}  // namespace troika::cli
