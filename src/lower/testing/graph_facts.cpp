#include "lower/testing/graph_facts.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace troika {
namespace {

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::compute:
      return "compute";
    case TaskKind::start:
      return "start";
    case TaskKind::finish:
      return "finish";
  }
  throw Bug("unknown task kind");
}

std::string_view to_string(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::write:
      return "write";
    case Access::update:
      return "update";
  }
  throw Bug("unknown access");
}

/// Writes the text of one device.
class DeviceText {
 public:
  DeviceText(const TaskGraph& graph, const DeviceSpec& device) : graph_(graph) {
    text_ = fmt::format("{} {} {} {} {}\n", device.kind, device.flops_per_second,
                        device.bytes_per_second, device.memory.count, device.slowdown);
  }

  void add(const Task& task, const std::string& dependencies) {
    text_ += fmt::format("{}{}{} {} {} {}", to_string(task.kind), task.is_update ? " update" : "",
                         task.lag > 0 ? fmt::format(" lag {}", task.lag) : std::string(),
                         task.computes() ? to_text(task.key) : std::string(), task.choice.algorithm,
                         task.choice.time.count);
    for (Layout layout : task.choice.layouts)
      text_ += fmt::format(" {}", troika::to_string(layout));
    for (const BufferUse& use : task.uses)
      text_ += fmt::format(" {} {}", to_string(use.access), number_of(use.buffer));
    if (task.scratch.valid()) text_ += fmt::format(" scratch {}", number_of(task.scratch));
    text_ += "\n" + std::exchange(new_buffers_, {});
    dependencies_ += dependencies + "\n";
  }

  // Dependencies last: where they differ, something else mostly does, which tells more.
  std::string text() const { return text_ + dependencies_; }

 private:
  // Buffers are described behind the task that uses them first.
  std::size_t number_of(BufferId id) {
    if (auto found = numbers_.find(id); found != numbers_.end()) return found->second;
    const BufferSpec& buffer = graph_[id];
    std::string of = buffer.view_of.valid() ? fmt::format(" in {}", number_of(buffer.view_of)) : "";
    std::size_t number = numbers_.size();
    numbers_.emplace(id, number);
    new_buffers_ +=
        fmt::format("  buffer {}: {} bytes {} {} {}{}{}{}\n", number, buffer.bytes().count,
                    troika::to_string(buffer.spec.dtype), troika::to_string(buffer.layout),
                    troika::to_string(buffer.category), buffer.persistent ? " persistent" : "",
                    buffer.held ? " held" : "", of);
    return number;
  }

  const TaskGraph& graph_;
  std::string text_;
  std::string new_buffers_;
  std::string dependencies_;
  std::map<BufferId, std::size_t> numbers_;
};

/// By task: where it stands among those of its device.
std::vector<std::size_t> places_on_devices(const TaskGraph& graph) {
  std::vector<std::size_t> places;
  std::map<DeviceId, std::size_t> counts;
  for (const Task& task : graph.tasks) places.push_back(counts[task.device]++);
  return places;
}

/// By task: the tasks of its device that it waits for.
std::vector<std::string> dependency_texts(const TaskGraph& graph,
                                          const std::vector<std::size_t>& places) {
  std::vector<std::string> texts(graph.tasks.size());
  std::vector<std::set<std::pair<std::size_t, int>>> from(graph.tasks.size());
  for (const Dependency& edge : graph.dependencies)
    if (graph.tasks[edge.from].device == graph.tasks[edge.to].device)
      from[edge.to].insert({places[edge.from], edge.distance});
  for (std::size_t task = 0; task < texts.size(); ++task)
    for (auto [place, distance] : from[task])
      texts[task] += fmt::format(" after {}{}", place, distance > 0 ? "'" : "");
  return texts;
}

std::string shape_of(const Communication& communication) {
  return fmt::format("{} of {} {} {} by {} in {}", to_string(communication.call.kind),
                     communication.call.count, troika::to_string(communication.dtype),
                     to_string(communication.rule), communication.algorithm,
                     communication.time.count);
}

bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce ||
         kind == Collective::gather || kind == Collective::scatter;
}

bool reads_ranges(Collective kind) {
  return kind != Collective::all_reduce && kind != Collective::reduce &&
         kind != Collective::broadcast;
}

std::string role_of(const CollectiveCall& call, std::size_t member) {
  std::string role;
  if (has_root(call.kind) && static_cast<std::size_t>(call.root) == member) role += "root";
  if (reads_ranges(call.kind) && !call.ranges.empty())
    role += fmt::format(" of {}", call.ranges[member].extent());
  return role;
}

void add_communications(const TaskGraph& graph, const std::vector<std::size_t>& places,
                        RefinementFacts& facts) {
  for (const Communication& communication : graph.communications) {
    facts.communications.push_back({shape_of(communication), {}});
    for (std::size_t member = 0; member < communication.devices.size(); ++member)
      facts.communications.back().members.push_back(
          {communication.devices[member].index(), role_of(communication.call, member)});
  }
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    if (task.computes()) continue;
    facts.communications[task.communication.index()]
        .members[static_cast<std::size_t>(task.member)]
        .part += fmt::format(" {} at {}", to_string(task.kind), places[at]);
  }
}

}  // namespace

RefinementFacts facts_of(const Machine& machine, const TaskGraph& graph) {
  std::vector<std::size_t> places = places_on_devices(graph);
  std::vector<std::string> dependencies = dependency_texts(graph, places);
  std::vector<DeviceText> devices;
  for (const DeviceSpec& device : machine.devices) devices.emplace_back(graph, device);
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    devices[graph.tasks[at].device.index()].add(graph.tasks[at], dependencies[at]);
  RefinementFacts facts;
  for (const DeviceText& device : devices) facts.devices.push_back(device.text());
  add_communications(graph, places, facts);
  return facts;
}

std::string first_difference(const RefinementFacts& facts, std::size_t a, std::size_t b) {
  std::istringstream lines_a(facts.devices[a]), lines_b(facts.devices[b]);
  std::string line_a, line_b;
  while (true) {
    bool more_a = static_cast<bool>(std::getline(lines_a, line_a));
    bool more_b = static_cast<bool>(std::getline(lines_b, line_b));
    if (!more_a && !more_b) return {};
    if (!more_a) line_a = "(end)";
    if (!more_b) line_b = "(end)";
    if (line_a != line_b) return fmt::format("{}\n{}", line_a, line_b);
  }
}

}  // namespace troika
