// When each task of a step ran, in virtual or in real time: what `simulate` predicts and
// `Session::run` records, with the same ids, so that the two can be laid over each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "taskgraph/task_graph.h"

namespace troika {

struct Span {
  TaskId task;
  DeviceId device;
  SimTime start{};  ///< Since the beginning of the step.
  SimTime end{};

  bool operator==(const Span&) const = default;
};

/// One pass of the loop: each task once, for the step that it belongs to. Tasks that lag show an
/// earlier step than the others, as both run in the same pass.
struct Timeline {
  std::vector<Span> spans;  ///< In the order of the task graph's list; of the devices seen.

  SimTime length() const;
};

/// Values at a moment, such as the memory of a device by category; they hold until the next ones of
/// the same name.
struct TraceCounter {
  std::string name;
  SimTime time{};
  std::map<std::string, std::int64_t> values;
};

/// Borrows the timeline.
struct TracedTimeline {
  std::string title;  ///< "measured", "predicted"
  const Timeline& timeline;
  std::vector<TraceCounter> counters{};
};

/// Chrome's trace format (chrome://tracing, Perfetto): one group of rows per timeline, in it one
/// row per device. A task that lags has `"lag"` among its arguments. `about`: written as the
/// trace's `otherData`.
std::string to_chrome_trace(const TaskGraph& graph, const std::vector<TracedTimeline>& timelines,
                            const std::map<std::string, std::string>& about = {});

}  // namespace troika
