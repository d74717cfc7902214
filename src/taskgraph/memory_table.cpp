#include "taskgraph/memory_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "collective/algorithms.h"
#include "collective/member_memory.h"
#include "taskgraph/lifetimes.h"

namespace troika {
namespace {

/// Of a state in its plain form, from and to the host.
Bytes room_on_its_way(const BufferSpec& buffer) {
  return buffer.persistent && buffer.layout != Layout::plain ? buffer.spec.bytes() : Bytes{};
}

struct MemberOf {
  const Communication* communication;
  int member;
};

/// What of a program is on one device.
struct DeviceShare {
  std::vector<std::size_t> states;  ///< Buffers that outlive a step,
  std::vector<std::size_t> values;  ///< and that live in the arena.
  std::vector<MemberOf> messages;
};

class ProgramMemory {
 public:
  explicit ProgramMemory(const TaskGraph& graph)
      : graph_(graph),
        order_(loop_order(graph)),
        lifetimes_(find_lifetimes(graph)),
        shares_(graph.arena.size()) {
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      const BufferSpec& buffer = graph.buffers[at];
      if (buffer.view_of.valid()) continue;
      DeviceShare& share = shares_[buffer.device.index()];
      if (buffer.persistent)
        share.states.push_back(at);
      else if (lifetimes_[at].used)
        share.values.push_back(at);
    }
    for (const Communication& communication : graph.communications) {
      if (communication.algorithm.empty()) continue;
      for (std::size_t member = 0; member < communication.devices.size(); ++member)
        if (communication.buffers[member].valid())
          shares_[communication.devices[member].index()].messages.push_back(
              {&communication, static_cast<int>(member)});
    }
  }

  /// States that another program has already shown are not counted again.
  void add_state(DeviceId device, std::set<std::string>& seen, MemoryTable& table) const {
    for (std::size_t at : shares_[device.index()].states) {
      const BufferSpec& buffer = graph_.buffers[at];
      if (!seen.insert(buffer.name).second) continue;
      table.persistent += buffer.bytes();
      table.categories[buffer.category] += buffer.bytes();
    }
  }

  void add_messages(DeviceId device, MemoryTable& table) const {
    for (const auto& [communication, member] : shares_[device.index()].messages) {
      MemberRecipe own = make_member_recipe(communication->call, communication->algorithm, member);
      Bytes bytes = memory_of_member(own, {communication->dtype, communication->rule}).total();
      if (bytes == Bytes{}) continue;
      table.messages += bytes;
      table.categories[Category::workspace] += bytes;
    }
  }

  void add_arena(DeviceId device, MemoryTable& table) const {
    std::size_t moment = fullest_moment(device);
    if (!graph_.tasks.empty()) table.peak_task = graph_.tasks[order_[moment]].name;
    for (std::size_t at : shares_[device.index()].values) {
      const BufferSpec& buffer = graph_.buffers[at];
      if (lifetimes_[at].first <= moment && moment <= lifetimes_[at].last)
        table.categories[buffer.category] += buffer.bytes();
    }
  }

  Bytes arena_needed(DeviceId device) const {
    Bytes needed = graph_.arena.at(device.index());
    for (std::size_t at : shares_[device.index()].states)
      needed = std::max(needed, room_on_its_way(graph_.buffers[at]));
    return needed;
  }

 private:
  /// The place in a pass at which the live buffers of the arena are largest together.
  std::size_t fullest_moment(DeviceId device) const {
    std::map<std::size_t, std::int64_t> change;
    for (std::size_t at : shares_[device.index()].values) {
      change[lifetimes_[at].first] += graph_.buffers[at].bytes().count;
      change[lifetimes_[at].last + 1] -= graph_.buffers[at].bytes().count;
    }
    std::int64_t live = 0, most = 0;
    std::size_t moment = 0;
    for (const auto& [place, by] : change) {
      live += by;
      if (live > most) most = live, moment = place;
    }
    return moment;
  }

  const TaskGraph& graph_;
  std::vector<std::size_t> order_;  // of a pass
  std::vector<Lifetime> lifetimes_;
  std::vector<DeviceShare> shares_;  // by device
};

/// Of programs over one state; looks at each of their buffers once, however many devices there are.
class Memory {
 public:
  explicit Memory(const std::vector<const TaskGraph*>& programs) {
    for (const TaskGraph* program : programs) programs_.emplace_back(*program);
  }

  MemoryTable of(DeviceId device) const {
    MemoryTable table;
    std::set<std::string> state;
    const ProgramMemory* largest = &programs_.front();
    for (const ProgramMemory& program : programs_) {
      program.add_state(device, state, table);
      program.add_messages(device, table);
      Bytes arena = program.arena_needed(device);
      if (arena > table.arena) largest = &program;
      table.arena = std::max(table.arena, arena);
    }
    largest->add_arena(device, table);
    return table;
  }

 private:
  std::vector<ProgramMemory> programs_;
};

}  // namespace

Bytes arena_needed(const TaskGraph& graph, DeviceId device) {
  Bytes needed = graph.arena.at(device.index());
  for (const BufferSpec& buffer : graph.buffers)
    if (buffer.device == device) needed = std::max(needed, room_on_its_way(buffer));
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
