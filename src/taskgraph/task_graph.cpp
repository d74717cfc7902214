#include "taskgraph/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace troika {
namespace {

/// Who touched a buffer last, while walking the tasks in order.
struct History {
  std::vector<std::size_t> writers;        // all writes of the step, in order
  std::vector<std::size_t> readers;        // since the last write
  std::vector<std::size_t> first_readers;  // before the first write
};

using Edges = std::vector<Dependency>;

void add_edges(Edges& edges, const std::vector<std::size_t>& from, std::size_t to, int distance) {
  for (std::size_t task : from) {
    if (task != to || distance > 0) edges.push_back({task, to, distance});
  }
}

void record(History& history, Edges& edges, std::size_t task, Access access) {
  if (access != Access::write) {
    if (!history.writers.empty()) add_edges(edges, {history.writers.back()}, task, 0);
    (history.writers.empty() ? history.first_readers : history.readers).push_back(task);
  }
  if (access == Access::read) return;
  add_edges(edges, history.writers.empty() ? history.first_readers : history.readers, task, 0);
  if (!history.writers.empty()) add_edges(edges, {history.writers.back()}, task, 0);
  history.writers.push_back(task);
  history.readers.clear();
}

std::string text_of(const TaskGraph& graph, const Task& task) {
  if (task.computes()) {
    std::string text = to_text(task.key) + " " + task.choice.algorithm;
    return task.position.empty() ? text
                                 : fmt::format("{} at [{}]", text, fmt::join(task.position, ","));
  }
  return fmt::format("{} {}", task.kind == TaskKind::start ? "start" : "finish",
                     graph[task.communication].name);
}

}  // namespace

BufferId Communication::any_buffer() const {
  auto found = std::ranges::find_if(buffers, &BufferId::valid);
  TROIKA_CHECK(found != buffers.end(), fmt::format("'{}' has no member here", name));
  return *found;
}

bool TaskGraph::holds(DeviceId device) const {
  return devices.empty() || std::ranges::binary_search(devices, device);
}

BufferId TaskGraph::root(BufferId id) const {
  while (buffers[id.index()].view_of.valid()) id = buffers[id.index()].view_of;
  return id;
}

Bytes TaskGraph::offset_in_root(BufferId id) const {
  Bytes offset;
  for (; buffers[id.index()].view_of.valid(); id = buffers[id.index()].view_of)
    offset += buffers[id.index()].view_offset;
  return offset;
}

std::vector<StoredSlice> stored_slices(const TaskGraph& graph) {
  std::vector<StoredSlice> slices;
  for (const BufferSpec& buffer : graph.buffers) {
    if (!buffer.persistent || buffer.part_of.empty()) continue;
    for (const RunBox& part : boxes_of({buffer.device, buffer.region, buffer.run, buffer.layout}))
      slices.push_back(
          {buffer.name, buffer.part_of, part.box, buffer.device, buffer.layout, part.offset});
  }
  return slices;
}

std::vector<Dependency> find_dependencies(const TaskGraph& graph) {
  Edges edges;
  std::vector<History> histories(graph.buffers.size());
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    for (const BufferUse& use : graph.tasks[task].uses)
      record(histories[graph.root(use.buffer).index()], edges, task, use.access);
  }
  std::vector<bool> across_passes = find_memory_across_passes(graph);
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const History& history = histories[at];
    bool outlives_step = graph.buffers[at].persistent || across_passes[at];
    if (!outlives_step || history.writers.empty()) continue;
    // The next step's first accesses wait for this step's last write; its first write for this
    // step's last reads.
    for (std::size_t reader : history.first_readers)
      add_edges(edges, {history.writers.back()}, reader, 1);
    add_edges(edges, {history.writers.back()}, history.writers.front(), 1);
    add_edges(edges, history.readers, history.writers.front(), 1);
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::string to_text(const TaskGraph& graph) {
  std::string text = "taskgraph " + graph.name + "\n";
  for (const BufferSpec& buffer : graph.buffers) {
    text += fmt::format("buffer {} {} {} {}", buffer.name, to_string(buffer.spec),
                        to_string(buffer.layout), to_string(buffer.category));
    if (buffer.view_of.valid())
      text += fmt::format(" in {}+{}", graph[buffer.view_of].name, buffer.view_offset.count);
    else if (buffer.persistent)
      text += " persistent";
    else
      text += fmt::format(" at {}", buffer.offset.count);
    text += "\n";
  }
  for (const Communication& c : graph.communications) {
    text += fmt::format("communication {} {} {} {} x {} {} {} urgency {:#x} between", c.name,
                        to_string(c.call.kind), to_string(c.rule), c.call.count, to_string(c.dtype),
                        c.algorithm, c.call.segment, c.urgency);
    for (DeviceId device : c.devices) text += fmt::format(" {}", device.value);
    for (const Range& range : c.call.ranges) text += fmt::format(" {}:{}", range.begin, range.end);
    text += "\n";
  }
  constexpr std::array<const char*, 3> kMarks{"", "=", "~"};  // read, write, update
  for (const Task& task : graph.tasks) {
    text += fmt::format("task {}.{} '{}' on {} {} (", task.id.fragment, task.id.index, task.name,
                        task.device.value, text_of(graph, task));
    for (const BufferUse& use : task.uses)
      text += fmt::format(" {}{}", kMarks[static_cast<std::size_t>(use.access)],
                          graph[use.buffer].name);
    text += task.lag == 0 ? " )\n" : fmt::format(" ) lag {}\n", task.lag);
  }
  return text;
}

std::string to_dot(const TaskGraph& graph) {
  std::string text =
      "digraph \"" + graph.name + "\" {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    text += fmt::format("  t{} [label=\"{}\\ndevice {}\"{}];\n", at, task.name, task.device.value,
                        task.computes() ? "" : ", style=rounded");
  }
  for (const Dependency& edge : graph.dependencies)
    text += fmt::format("  t{} -> t{}{};\n", edge.from, edge.to,
                        edge.distance > 0 ? " [style=dashed, constraint=false]" : "");
  // A communication is a node that its starts lead to and its ends come from.
  for (std::size_t at = 0; at < graph.communications.size(); ++at)
    text +=
        fmt::format("  c{} [label=\"{}\", shape=ellipse];\n", at, graph.communications[at].name);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    if (task.kind == TaskKind::start)
      text += fmt::format("  t{} -> c{};\n", at, task.communication.value);
    if (task.kind == TaskKind::finish)
      text += fmt::format("  c{} -> t{};\n", task.communication.value, at);
  }
  return text + "}\n";
}

}  // namespace troika
