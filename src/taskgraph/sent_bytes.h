// The bytes that a device sends in a step.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// By kind of link. Members that share memory may read each other's vectors without sending them.
struct SentBytes {
  Bytes process{};
  Bytes node{};
  Bytes network{};

  Bytes& operator[](LinkKind kind);
  bool operator==(const SentBytes&) const = default;
};

/// What the algorithms of its communications send. The device is one of the graph's, and algorithms
/// are chosen.
SentBytes sent_bytes(const TaskGraph& graph, DeviceId device);

}  // namespace troika
