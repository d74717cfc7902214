#include "cli/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/measured_run.h"
#include "taskgraph/sent_bytes.h"
#include "taskgraph/time_use.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

/// Time by kind of work, added up over devices.
struct KindTime {
  std::int64_t tasks = 0;
  SimTime predicted{}, measured{};
  SimTime late_predicted{}, late_measured{};  // of messages: before all members have started
  bool computes = false;
};
using KindTimes = std::map<std::string, KindTime>;

void add_kernels(const TaskGraph& graph, const LoopPass& pass, SimTime KindTime::*time,
                 KindTimes& kinds) {
  for (const PassRow& row : pass.rows) {
    for (const RanTask& ran : row.tasks) {
      const Task& task = graph.tasks[ran.task];
      if (!task.computes()) continue;
      KindTime& kind = kinds[kind_of(graph, task)];
      kind.computes = true;
      kind.*time += ran.time();
      if (time == &KindTime::predicted) ++kind.tasks;
    }
  }
}

void add_waits(const std::vector<DeviceTime>& used, SimTime KindTime::*time,
               SimTime KindTime::*late, KindTimes& kinds) {
  for (const DeviceTime& device : used) {
    for (const TimeShare& share : device.shares) {
      if (is_busy(share.use)) continue;
      KindTime& kind = kinds[share.kind ? fmt::format("wait for {}", to_string(*share.kind))
                             : share.use == TimeUse::step_end ? "between steps"
                                                              : "between tasks"];
      kind.*time += share.time;
      if (share.use == TimeUse::late_peer) kind.*late += share.time;
    }
  }
}

/// `sees_all`: the trace shows all members of messages.
std::string cause_of(const std::string& name, const KindTime& time, bool sees_all) {
  SimTime difference = time.measured - time.predicted;
  bool longer = difference > SimTime{};
  if (time.computes) {
    if (time.predicted == SimTime{}) return "the cost file has no time for these kernels";
    double ratio = static_cast<double>(time.measured.count) /
                   static_cast<double>(std::max<std::int64_t>(time.predicted.count, 1));
    return fmt::format("kernels took {:.2f} times as long as in the cost file", ratio);
  }
  if (name == "between steps")
    return longer ? "the host between steps: samples, reports, starting the devices"
                  : "devices were closer together than predicted";
  if (name == "between tasks")
    return longer ? "starting kernels and messages, and moving messages between kernels"
                  : "fewer messages were moved between kernels than predicted";
  if (!sees_all && longer) return "the messages took longer, or other ranks started later";
  SimTime late = time.late_measured - time.late_predicted;
  bool is_late = std::abs(late.count) * 2 > std::abs(difference.count);
  if (is_late) return longer ? "other members started later" : "other members started earlier";
  return longer ? "the messages took longer" : "the messages took less time";
}

std::vector<ComparedWork> list_work(const KindTimes& kinds, std::int64_t devices, bool sees_all) {
  std::vector<ComparedWork> list;
  for (const auto& [name, time] : kinds)
    list.push_back({name,
                    time.tasks / devices,
                    {time.predicted.count / devices},
                    {time.measured.count / devices},
                    cause_of(name, time, sees_all)});
  std::ranges::stable_sort(list, std::greater{}, [](const ComparedWork& work) {
    return std::abs(work.difference().count);
  });
  return list;
}

SimTime waiting(const DeviceTime& used) {
  SimTime sum;
  for (const TimeShare& share : used.shares)
    if (share.kind) sum += share.time;
  return sum;
}

ComparedDevice compare_device(const DeviceTime& predicted, const DeviceTime& measured) {
  ComparedDevice made{predicted.device, predicted.busy(), measured.busy(), waiting(predicted),
                      waiting(measured)};
  made.predicted_other = predicted.whole - made.predicted_busy - made.predicted_waiting;
  made.measured_other = measured.whole - made.measured_busy - made.measured_waiting;
  return made;
}

/// Adds up how long devices stood at the ends of messages.
void add_waits(const TaskGraph& graph, const LoopPass& pass, SimTime ComparedLinks::*time,
               std::map<LinkKind, ComparedLinks>& links) {
  for (const PassRow& row : pass.rows) {
    for (const RanTask& ran : row.tasks) {
      const Task& task = graph.tasks[ran.task];
      if (!task.computes()) links[slowest_link(graph[task.communication].call)].*time += ran.time();
    }
  }
}

std::vector<ComparedLinks> compare_links(const TaskGraph& graph, const LoopPass& predicted,
                                         const LoopPass& measured) {
  std::map<LinkKind, ComparedLinks> links;
  add_waits(graph, predicted, &ComparedLinks::predicted, links);
  add_waits(graph, measured, &ComparedLinks::measured, links);
  auto devices = static_cast<std::int64_t>(predicted.rows.size());
  for (const PassRow& row : predicted.rows) {
    SentBytes sent = sent_bytes(graph, row.device);
    for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network})
      if (sent[kind] > Bytes{}) links[kind].sent += sent[kind];
  }
  std::vector<ComparedLinks> list;
  for (const auto& [kind, sums] : links)
    list.push_back({kind,
                    {sums.sent.count / devices},
                    {sums.predicted.count / devices},
                    {sums.measured.count / devices}});
  return list;
}

Timeline timeline_of(const TaskGraph& graph, const LoopPass& pass) {
  Timeline timeline;
  for (const PassRow& row : pass.rows)
    for (const RanTask& ran : row.tasks)
      timeline.spans.push_back({graph.tasks[ran.task].id, row.device, ran.start, ran.end});
  return timeline;
}

}  // namespace

RunComparison compare_with_run(const fs::path& path, const std::string& costs) {
  const MeasuredRun run = open_measured_run(path, costs);
  const TaskGraph& graph = run.program().graph;
  const LoopPass &predicted = run.predicted, &measured = run.measured;
  RunComparison made{.run = path.string(),
                     .predicted = run.program().time,
                     .measured = run.time,
                     .unknown_tasks = run.unknown_tasks(),
                     .notes = notes_of(run)};
  KindTimes kinds;
  add_kernels(graph, predicted, &KindTime::predicted, kinds);
  add_kernels(graph, measured, &KindTime::measured, kinds);
  std::vector<DeviceTime> expected = time_use(graph, predicted);
  std::vector<DeviceTime> seen = time_use(graph, measured);
  add_waits(expected, &KindTime::predicted, &KindTime::late_predicted, kinds);
  add_waits(seen, &KindTime::measured, &KindTime::late_measured, kinds);
  made.work = list_work(kinds, std::ssize(run.devices),
                        run.devices.size() == run.plan.target.on.machine.devices.size());
  for (std::size_t at = 0; at < std::min(expected.size(), seen.size()); ++at)
    made.devices.push_back(compare_device(expected[at], seen[at]));
  made.links = compare_links(graph, predicted, measured);
  Timeline as_predicted = timeline_of(graph, predicted);
  Timeline as_measured = timeline_of(graph, measured);
  made.trace = to_chrome_trace(graph, {{"measured", as_measured}, {"predicted", as_predicted}});
  return made;
}

}  // namespace troika::cli
