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

class Memory {
 public:
  explicit Memory(const std::vector<const TaskGraph*>& programs) : programs_(programs) {
    for (const TaskGraph* program : programs) lifetimes_.push_back(find_lifetimes(*program));
  }

  MemoryTable of(DeviceId device) const {
    MemoryTable table;
    std::set<std::string> state;
    std::size_t largest = 0;
    for (std::size_t at = 0; at < programs_.size(); ++at) {
      add_state(*programs_[at], device, state, table);
      add_messages(*programs_[at], device, table);
      Bytes arena = arena_needed(*programs_[at], device);
      if (arena > table.arena) largest = at;
      table.arena = std::max(table.arena, arena);
    }
    add_arena(*programs_[largest], lifetimes_[largest], device, table);
    return table;
  }

 private:
  static void add_state(const TaskGraph& graph, DeviceId device, std::set<std::string>& seen,
                        MemoryTable& table) {
    for (const BufferSpec& buffer : graph.buffers) {
      if (!buffer.persistent || buffer.view_of.valid() || buffer.device != device) continue;
      if (!seen.insert(buffer.name).second) continue;
      table.persistent += buffer.bytes();
      table.categories[buffer.category] += buffer.bytes();
    }
  }

  static void add_messages(const TaskGraph& graph, DeviceId device, MemoryTable& table) {
    for (const Communication& communication : graph.communications) {
      if (communication.algorithm.empty()) continue;
      for (std::size_t member = 0; member < communication.devices.size(); ++member) {
        if (communication.devices[member] != device) continue;
        MemberRecipe own = make_member_recipe(communication.call, communication.algorithm,
                                              static_cast<int>(member));
        Bytes bytes = memory_of_member(own, {communication.dtype, communication.rule}).total();
        if (bytes == Bytes{}) continue;
        table.messages += bytes;
        table.categories[Category::workspace] += bytes;
      }
    }
  }

  static void add_arena(const TaskGraph& graph, const std::vector<Lifetime>& lifetimes,
                        DeviceId device, MemoryTable& table) {
    std::size_t moment = fullest_moment(graph, device, lifetimes);
    if (!graph.tasks.empty()) table.peak_task = graph.tasks[moment].name;
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      const BufferSpec& buffer = graph.buffers[at];
      if (buffer.persistent || buffer.view_of.valid() || buffer.device != device) continue;
      if (lifetimes[at].used && lifetimes[at].first <= moment && moment <= lifetimes[at].last)
        table.categories[buffer.category] += buffer.bytes();
    }
  }

  const std::vector<const TaskGraph*>& programs_;
  std::vector<std::vector<Lifetime>> lifetimes_;  // by program
};

}  // namespace

Bytes arena_needed(const TaskGraph& graph, DeviceId device) {
  Bytes needed = graph.arena.at(device.index());
  for (const BufferSpec& buffer : graph.buffers)
    if (buffer.persistent && buffer.device == device && buffer.layout != Layout::plain)
      needed = std::max(needed, buffer.spec.bytes());
  return needed;
}

std::vector<MemoryTable> memory_by_device(const std::vector<const TaskGraph*>& programs) {
  Memory memory(programs);
  std::vector<MemoryTable> tables;
  for (std::size_t at = 0; at < programs.at(0)->arena.size(); ++at)
    tables.push_back(memory.of(DeviceId(at)));
  return tables;
}

MemoryTable memory_of(const std::vector<const TaskGraph*>& programs, DeviceId device) {
  return Memory(programs).of(device);
}

MemoryTable memory_of(const TaskGraph& graph, DeviceId device) {
  return memory_of(std::vector{&graph}, device);
}

}  // namespace troika
