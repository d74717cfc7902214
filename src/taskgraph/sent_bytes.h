// The bytes that a device sends in a step.
#pragma once

#include "taskgraph/task_graph.h"

namespace troika {

/// By kind of link. Where members read and write each other's vectors in shared memory instead of
/// sending them, what others read of a device's vector and what it writes into theirs count.
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
