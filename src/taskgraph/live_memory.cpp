#include "taskgraph/live_memory.h"

#include <algorithm>

#include "taskgraph/lifetimes.h"

namespace troika {
namespace {

/// When the tasks of a device ran, by their places in a pass of the loop.
class PlaceTimes {
 public:
  PlaceTimes(const TaskGraph& graph, const PassRow& row) {
    std::vector<std::size_t> places = places_in(loop_order(graph));
    for (const RanTask& ran : row.tasks) {
      std::size_t place = places[ran.task];
      starts_[place] = ran.start;
      ends_[place] = ran.end;
    }
  }

  /// Of the first task from this place on.
  SimTime start_from(std::size_t place) const {
    auto found = starts_.lower_bound(place);
    return found == starts_.end() ? SimTime{} : found->second;
  }
  /// Of the last task up to this place.
  SimTime end_until(std::size_t place) const {
    auto after = ends_.upper_bound(place);
    return after == ends_.begin() ? SimTime{} : std::prev(after)->second;
  }

 private:
  std::map<std::size_t, SimTime> starts_, ends_;
};

}  // namespace

Bytes MemoryMoment::total() const {
  Bytes sum;
  for (const auto& [category, own] : bytes) sum += own;
  return sum;
}

std::vector<MemoryMoment> live_memory(const TaskGraph& graph, const PassRow& row) {
  if (row.tasks.empty()) return {};
  PlaceTimes times(graph, row);
  std::vector<Lifetime> lifetimes = find_lifetimes(graph);
  std::map<SimTime, std::map<Category, Bytes>> changes;
  const SimTime begin = row.tasks.front().start;
  for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
    const BufferSpec& buffer = graph.buffers[at];
    if (buffer.device != row.device || buffer.view_of.valid()) continue;
    if (buffer.persistent || lifetimes[at].outlives_pass) {
      changes[begin][buffer.category] += buffer.bytes();
    } else if (lifetimes[at].used) {
      changes[times.start_from(lifetimes[at].first)][buffer.category] += buffer.bytes();
      changes[times.end_until(lifetimes[at].last)][buffer.category] += Bytes{} - buffer.bytes();
    }
  }
  std::vector<MemoryMoment> moments;
  std::map<Category, Bytes> live;
  for (const auto& [time, by] : changes) {
    for (const auto& [category, bytes] : by) live[category] += bytes;
    moments.push_back({time, live});
  }
  return moments;
}

}  // namespace troika
