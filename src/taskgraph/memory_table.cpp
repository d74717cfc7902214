#include "taskgraph/memory_table.h"

#include <algorithm>
#include <set>

#include "collective/algorithms.h"
#include "collective/member_memory.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

/// The task during which the live buffers of the arena are largest together.
std::size_t fullest_moment(const TaskGraph& graph, DeviceId device,
                           const std::vector<Lifetime>& lifetimes) {
  std::vector<std::int64_t> change(graph.tasks.size() + 1);
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.persistent || buffer.view_of.valid() || !lifetimes[at].used ||
        buffer.device != device)
      continue;
    change[lifetimes[at].first] += buffer.bytes().count;
    change[lifetimes[at].last + 1] -= buffer.bytes().count;
  }
  std::int64_t live = 0, most = -1;
  std::size_t moment = 0;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    live += change[task];
    if (live > most) most = live, moment = task;
  }
  return moment;
}

void add_state(const TaskGraph& graph, std::set<std::pair<DeviceId, std::string>>& seen,
               std::vector<MemoryTable>& tables) {
  for (const BufferSpec& buffer : graph.buffers) {
    if (!buffer.persistent || buffer.view_of.valid()) continue;
    if (!seen.insert({buffer.device, buffer.name}).second) continue;
    MemoryTable& table = tables[buffer.device.index()];
    table.persistent += buffer.bytes();
    table.categories[buffer.category] += buffer.bytes();
  }
}

void add_messages(const TaskGraph& graph, std::vector<MemoryTable>& tables) {
  for (const Communication& communication : graph.communications) {
    if (communication.algorithm.empty()) continue;
    for (int member = 0; member < communication.call.members; ++member) {
      MemberRecipe own = make_member_recipe(communication.call, communication.algorithm, member);
      Bytes bytes = memory_of_member(own, {communication.dtype, communication.rule}).total();
      if (bytes == Bytes{}) continue;
      MemoryTable& table = tables[communication.devices[static_cast<std::size_t>(member)].index()];
      table.messages += bytes;
      table.categories[Category::workspace] += bytes;
    }
  }
}

void add_arena(const TaskGraph& graph, DeviceId device, MemoryTable& table) {
  table.arena = arena_needed(graph, device);
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::size_t moment = fullest_moment(graph, device, lifetimes);
  if (!graph.tasks.empty()) table.peak_task = graph.tasks[moment].name;
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.persistent || buffer.view_of.valid() || buffer.device != device) continue;
    if (lifetimes[at].used && lifetimes[at].first <= moment && moment <= lifetimes[at].last)
      table.categories[buffer.category] += buffer.bytes();
  }
}

}  // namespace

Bytes arena_needed(const TaskGraph& graph, DeviceId device) {
  Bytes needed = graph.arena.at(device.index());
  for (const BufferSpec& buffer : graph.buffers)
    if (buffer.persistent && buffer.device == device && buffer.layout != Layout::plain)
      needed = std::max(needed, buffer.spec.bytes());
  return needed;
}

std::vector<MemoryTable> memory_by_device(const std::vector<const TaskGraph*>& programs) {
  std::vector<MemoryTable> tables(programs.at(0)->arena.size());
  std::set<std::pair<DeviceId, std::string>> seen;
  for (const TaskGraph* program : programs) {
    add_state(*program, seen, tables);
    add_messages(*program, tables);
  }
  for (std::size_t at = 0; at < tables.size(); ++at) {
    DeviceId device(at);
    auto needed = [&](const TaskGraph* program) { return arena_needed(*program, device); };
    add_arena(**std::ranges::max_element(programs, {}, needed), device, tables[at]);
  }
  return tables;
}

MemoryTable memory_of(const TaskGraph& graph, DeviceId device) {
  return memory_by_device({&graph}).at(device.index());
}

}  // namespace troika
