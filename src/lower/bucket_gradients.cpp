#include "lower/bucket_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lower/place_buffers.h"

namespace troika {
namespace {

/// Communications that become one.
struct Bucket {
  std::vector<CommunicationId> joined;
  Bytes bytes{};
  std::size_t last_start = 0, first_finish = static_cast<std::size_t>(-1);  ///< Places in the list.
};

class Bucketing {
 public:
  Bucketing(TaskGraph& graph, Bytes size) : graph_(graph), size_(size) {
    for (const BufferSpec& buffer : graph.buffers)
      if (buffer.view_of.valid()) viewed_.insert(buffer.view_of);
    alone_.resize(graph.communications.size());
    tasks_.resize(graph.communications.size());
    for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
      const Task& task = graph.tasks[at];
      if (task.computes()) continue;
      Bucket& own = alone_[task.communication.index()];
      if (task.kind == TaskKind::start) own.last_start = at;
      if (task.kind == TaskKind::finish) own.first_finish = std::min(own.first_finish, at);
      tasks_[task.communication.index()].push_back(at);
    }
  }

  void run() {
    for (const Task& task : graph_.tasks)
      if (task.kind == TaskKind::start && task.member == 0) add(task.communication);
    for (const Bucket& bucket : buckets_)
      if (bucket.joined.size() > 1) join(bucket);
    drop_joined();
  }

 private:
  bool can_join(const Communication& communication) const {
    bool sums =
        communication.call.kind == Collective::all_reduce && communication.rule == CombineRule::sum;
    return sums && std::ranges::all_of(communication.buffers, [&](BufferId id) {
             const BufferSpec& buffer = graph_[id];
             return buffer.category == Category::gradient && !buffer.persistent && !buffer.held &&
                    !buffer.view_of.valid() && !viewed_.contains(id);
           });
  }

  bool fits(const Bucket& bucket, CommunicationId id, Bytes bytes) const {
    const Communication &first = graph_[bucket.joined[0]], &next = graph_[id];
    const Bucket& own = alone_[id.index()];
    bool in_time = std::max(bucket.last_start, own.last_start) <
                   std::min(bucket.first_finish, own.first_finish);
    return in_time && first.devices == next.devices && first.dtype == next.dtype &&
           first.call.order == next.call.order && bucket.bytes + bytes <= size_;
  }

  Bytes room_for(const Communication& communication) const {
    return aligned(graph_[communication.buffers[0]].bytes());
  }

  void add(CommunicationId id) {
    const Communication& communication = graph_[id];
    if (!can_join(communication)) return;
    Bytes bytes = room_for(communication);
    auto open = std::ranges::find_if(buckets_,
                                     [&](const Bucket& bucket) { return fits(bucket, id, bytes); });
    if (open == buckets_.end()) open = buckets_.insert(buckets_.end(), Bucket{});
    open->joined.push_back(id);
    open->bytes += bytes;
    open->last_start = std::max(open->last_start, alone_[id.index()].last_start);
    open->first_finish = std::min(open->first_finish, alone_[id.index()].first_finish);
  }

  /// The members' gradients become views of one buffer each; the bucket starts where the last of
  /// them would have started, and ends where the first would have ended.
  void join(const Bucket& bucket) {
    const Communication first = graph_[bucket.joined[0]];
    Communication whole = first;
    CommunicationId id(graph_.communications.size());
    whole.name = fmt::format("bucket of {} gradients", bucket.joined.size());
    TensorSpec spec{{bucket.bytes.count / size_of(first.dtype).count}, first.dtype};
    for (std::size_t member = 0; member < first.devices.size(); ++member) {
      BufferId root(graph_.buffers.size());
      graph_.buffers.push_back({.name = fmt::format("{}@{}", whole.name, member),
                                .spec = spec,
                                .device = first.devices[member],
                                .category = Category::gradient});
      Bytes offset;
      for (CommunicationId part : bucket.joined) {
        BufferSpec& gradient = graph_[graph_[part].buffers[member]];
        gradient.view_of = root;
        gradient.view_offset = offset;
        offset += room_for(graph_[part]);
      }
      whole.buffers[member] = root;
    }
    graph_.communications.push_back(whole);
    for (CommunicationId part : bucket.joined) gone_.insert(part);
    replace_tasks(bucket, id);
  }

  void replace_tasks(const Bucket& bucket, CommunicationId id) {
    std::size_t members = graph_[id].devices.size();
    std::vector<std::size_t> last_start(members), first_finish(members, graph_.tasks.size());
    for (CommunicationId joined : bucket.joined) {
      for (std::size_t at : tasks_[joined.index()]) {
        const Task& task = graph_.tasks[at];
        auto member = static_cast<std::size_t>(task.member);
        if (task.kind == TaskKind::start)
          last_start[member] = std::max(last_start[member], at);
        else
          first_finish[member] = std::min(first_finish[member], at);
      }
    }
    for (std::size_t member = 0; member < members; ++member) {
      for (std::size_t at : {last_start[member], first_finish[member]}) {
        Task& task = graph_.tasks[at];
        task.communication = id;
        task.uses[0].buffer = graph_[id].buffers[member];
        task.name = graph_[id].name + (task.kind == TaskKind::start ? " start" : "");
      }
    }
  }

  void drop_joined() {
    std::erase_if(graph_.tasks, [&](const Task& task) {
      return !task.computes() && gone_.contains(task.communication);
    });
    std::vector<CommunicationId> now(graph_.communications.size());
    std::vector<Communication> left;
    for (std::size_t at = 0; at < now.size(); ++at) {
      if (gone_.contains(CommunicationId(at))) continue;
      now[at] = CommunicationId(left.size());
      left.push_back(std::move(graph_.communications[at]));
    }
    graph_.communications = std::move(left);
    for (Task& task : graph_.tasks)
      if (!task.computes()) task.communication = now[task.communication.index()];
  }

  TaskGraph& graph_;
  const Bytes size_;
  std::set<BufferId> viewed_;
  std::vector<Bucket> alone_;                    // each communication by itself
  std::vector<std::vector<std::size_t>> tasks_;  // of each communication, places in the list
  std::vector<Bucket> buckets_;
  std::set<CommunicationId> gone_;
};

}  // namespace

void bucket_gradients(TaskGraph& graph, Bytes size) { Bucketing(graph, size).run(); }

}  // namespace troika
