#include "taskgraph/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace troika {
namespace {

using Json = nlohmann::ordered_json;

void append_spans(Json& events, const TaskGraph& graph, const Timeline& timeline, int process,
                  const char* title) {
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", title}}}});
  TROIKA_CHECK_EQ(timeline.spans.size(), graph.tasks.size());
  for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
    const Span& span = timeline.spans[at];
    const Task& task = graph.tasks[at];
    TROIKA_CHECK(span.task == task.id, "the timeline is of another task graph");
    events.push_back({{"name", task.name},
                      {"cat", std::string(to_string(task.key.phase))},
                      {"ph", "X"},
                      {"ts", static_cast<double>(span.start.count) / 1e3},
                      {"dur", static_cast<double>((span.end - span.start).count) / 1e3},
                      {"pid", process},
                      {"tid", span.device.value},
                      {"args",
                       {{"id", fmt::format("{}.{}", span.task.fragment, span.task.index)},
                        {"kernel", task.choice.algorithm},
                        {"flops", flops_of(task.key).count},
                        {"bytes", bytes_of(task.key).count}}}});
  }
}

}  // namespace

SimTime Timeline::length() const {
  SimTime end;
  for (const Span& span : spans) end = std::max(end, span.end);
  return end;
}

std::string to_chrome_trace(const TaskGraph& graph, const Timeline& measured,
                            const Timeline* predicted) {
  Json events = Json::array();
  append_spans(events, graph, measured, 0, "measured");
  if (predicted != nullptr) append_spans(events, graph, *predicted, 1, "predicted");
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace troika
