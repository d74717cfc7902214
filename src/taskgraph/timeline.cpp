#include "taskgraph/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika {
namespace {

using Json = nlohmann::ordered_json;

std::string category_of(const Task& task) {
  if (task.computes()) return std::string(to_string(task.key.phase));
  return task.kind == TaskKind::start ? "communication start" : "communication";
}

Json arguments_of(const TaskGraph& graph, const Task& task) {
  Json arguments{{"id", fmt::format("{}.{}", task.id.fragment, task.id.index)}};
  if (task.computes()) {
    arguments["kernel"] = task.choice.algorithm;
    arguments["flops"] = flops_of(task.key).count;
    arguments["bytes"] = bytes_of(task.key).count;
  } else {
    const Communication& communication = graph[task.communication];
    arguments["algorithm"] = communication.algorithm;
    arguments["members"] = communication.devices.size();
    arguments["bytes"] = communication.bytes().count;
  }
  if (task.lag != 0) arguments["lag"] = task.lag;
  return arguments;
}

void append_spans(Json& events, const TaskGraph& graph, const Timeline& timeline, int process) {
  std::map<TaskId, const Task*> tasks;
  for (const Task& task : graph.tasks) tasks[task.id] = &task;
  for (const Span& span : timeline.spans) {
    TROIKA_CHECK(tasks.contains(span.task), "the timeline is of another task graph");
    const Task& task = *tasks.at(span.task);
    events.push_back({{"name", task.name},
                      {"cat", category_of(task)},
                      {"ph", "X"},
                      {"ts", static_cast<double>(span.start.count) / 1e3},
                      {"dur", static_cast<double>((span.end - span.start).count) / 1e3},
                      {"pid", process},
                      {"tid", span.device.value},
                      {"args", arguments_of(graph, task)}});
  }
}

}  // namespace

SimTime Timeline::length() const {
  SimTime end;
  for (const Span& span : spans) end = std::max(end, span.end);
  return end;
}

std::string to_chrome_trace(const TaskGraph& graph, const std::vector<TracedTimeline>& timelines,
                            const std::map<std::string, std::string>& about) {
  Json events = Json::array();
  int process = 0;
  for (const TracedTimeline& traced : timelines) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"args", {{"name", traced.title}}}});
    append_spans(events, graph, traced.timeline, process);
    for (const TraceCounter& counter : traced.counters)
      events.push_back({{"name", counter.name},
                        {"ph", "C"},
                        {"ts", static_cast<double>(counter.time.count) / 1e3},
                        {"pid", process},
                        {"args", counter.values}});
    ++process;
  }
  Json trace{{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  if (!about.empty()) trace["otherData"] = about;
  return trace.dump() + "\n";
}

}  // namespace troika
