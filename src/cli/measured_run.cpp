#include "cli/measured_run.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "cli/recorded_run.h"
#include "cli/run_target.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// Tasks of a device in the order of the loop.
std::vector<std::size_t> tasks_of(const TaskGraph& graph, DeviceId device) {
  std::vector<std::size_t> own;
  for (std::size_t at : loop_order(graph))
    if (graph.tasks[at].device == device) own.push_back(at);
  return own;
}

/// The row of the first device of a class, for another device of the class. Devices of a class have
/// the same tasks, one by one.
PassRow row_on(const TaskGraph& graph, const PassRow& first, DeviceId device) {
  std::vector<std::size_t> theirs = tasks_of(graph, first.device), own = tasks_of(graph, device);
  TROIKA_CHECK_EQ(own.size(), theirs.size());
  std::vector<std::size_t> same(graph.tasks.size());
  for (std::size_t at = 0; at < own.size(); ++at) same[theirs[at]] = own[at];
  PassRow row{.device = device};
  for (const RanTask& ran : first.tasks) row.tasks.push_back({same[ran.task], ran.start, ran.end});
  return row;
}

/// The predicted pass on these devices.
LoopPass spread(const PredictedProgram& program, const std::vector<DeviceId>& devices) {
  LoopPass pass = program.pass;
  pass.messages = messages_of(program.graph);
  pass.rows.clear();
  for (DeviceId device : devices) {
    std::int32_t a_class = program.folded.classes.of_device.at(device.index());
    pass.rows.push_back(row_on(program.graph, program.pass.rows.at(as_index(a_class)), device));
  }
  return pass;
}

std::vector<DeviceId> devices_of(const Timeline& timeline) {
  std::set<DeviceId> devices;
  for (const Span& span : timeline.spans) devices.insert(span.device);
  return {devices.begin(), devices.end()};
}

/// Throws Error(file) if the trace is of an earlier part of the run than plan.json.
void require_same_part(const fs::path& run, const TracedPart& part) {
  RecordedRun recorded = read_recorded_run(run);
  if (part.plan_hash.empty() || recorded.plan_hash.empty()) return;  // of an earlier version
  bool is_same =
      part.plan_hash == recorded.plan_hash && part.ranks == recorded.ranks.value_or(part.ranks);
  if (is_same) return;
  throw Error(ErrorKind::file,
              fmt::format("{}: the trace is of steps {} to {}, which ran under another plan or in "
                          "other processes than those of plan.json and env.json; let the run end "
                          "or stop it with Ctrl-C, which writes a new trace",
                          (run / "trace.json").string(), part.first_step + 1, part.last_step));
}

/// Devices of the trace choose tasks and classes of the plan.
void require_known_devices(const fs::path& run, const std::vector<DeviceId>& devices,
                           std::size_t planned) {
  DeviceId last = devices.back();
  if (last.index() < planned) return;
  throw Error(
      ErrorKind::file,
      fmt::format("{}: trace.json shows device {}, but plan.json has {} device{}; the trace "
                  "is of an earlier part of the run",
                  (run / "trace.json").string(), last.value, planned, planned == 1 ? "" : "s"));
}

SimulationTarget target_of_run(const fs::path& run, const std::string& costs,
                               const MeasuredStep& step) {
  for (const char* name : {"plan.json", "costs.json"})
    if (!fs::exists(run / name))
      throw Error(ErrorKind::file, fmt::format("'{}' is missing; give the folder of a run that "
                                               "has started",
                                               (run / name).string()));
  SimulationTarget target =
      open_simulation({.target = (run / "plan.json").string(),
                       .costs = costs.empty() ? (run / "costs.json").string() : costs,
                       .batch = step.part.batch});
  require_known_devices(run, devices_of(step.timeline), target.on.machine.devices.size());
  return target;
}

std::string measurement_note(const MeasuredStep& step) {
  if (step.period == SimTime{})
    return "The run reported no times of such steps; measured is the last whole step alone.";
  return "Measured are the tasks of the last whole step; the time of a step is the median of the "
         "run's reports.";
}

}  // namespace

std::int64_t MeasuredRun::unknown_tasks() const {
  std::int64_t unknown = std::ssize(step.timeline.spans);
  for (const PassRow& row : measured.rows) unknown -= std::ssize(row.tasks);
  return unknown;
}

MeasuredRun open_measured_run(const fs::path& run, const std::string& costs) {
  if (!is_run_folder(run))
    throw Error(ErrorKind::file,
                fmt::format("'{}' is not a run folder; give one, such as runs/NAME", run.string()));
  MeasuredStep step = read_measured_step(run);
  require_same_part(run, step.part);
  std::vector<DeviceId> devices = devices_of(step.timeline);
  MeasuredRun made{.plan = simulate_plan(target_of_run(run, costs, step), {.also = devices}),
                   .step = std::move(step),
                   .devices = std::move(devices)};
  const PredictedProgram& program = made.program();
  bool is_alone = made.plan.programs.size() == 1;
  made.time =
      is_alone && made.step.period > SimTime{} ? made.step.period : made.step.timeline.length();
  made.predicted = spread(program, made.devices);
  made.measured = pass_of(program.graph, made.step.timeline, made.time, messages_of(program.graph));
  made.measured.is_one_step = !is_alone;
  return made;
}

std::vector<std::string> notes_of(const MeasuredRun& run) {
  const SimulatedPlan& plan = run.plan;
  const MeasuredStep& step = run.step;
  const SimulationTarget& target = plan.target;
  std::size_t devices = run.devices.size();
  std::vector<std::string> notes = target.notes;
  if (std::int64_t unknown = run.unknown_tasks(); unknown > 0)
    notes.push_back(
        fmt::format("{} tasks of the trace are not in the simulated plan, whose kernels and "
                    "layouts were chosen "
                    "by other costs or for another batch.",
                    unknown));
  if (devices < target.on.machine.devices.size())
    notes.push_back(
        fmt::format("The trace shows {} of {} devices, those of the first rank, so it is not known "
                    "when the others started their messages.",
                    devices, target.on.machine.devices.size()));
  if (plan.programs.size() > 1)
    notes.push_back(fmt::format("Compared is '{}', the first of {} programs of a step.",
                                plan.programs.front().name, plan.programs.size()));
  if (target.programs.strategy.made_for_batch.value_or(step.part.batch) != step.part.batch &&
      step.part.batch > 0)
    notes.push_back(fmt::format(
        "Compared are steps of {} samples, the batch with which the run ended.", step.part.batch));
  notes.push_back(measurement_note(step));
  return notes;
}

}  // namespace troika::cli
