#include "taskgraph/check_lags.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

/// Of the tasks that use some memory in one way, one with the smallest and one with the largest
/// lag.
struct Extent {
  const Task* least = nullptr;
  const Task* most = nullptr;

  void add(const Task& task) {
    if (least == nullptr || task.lag < least->lag) least = &task;
    if (most == nullptr || task.lag > most->lag) most = &task;
  }
  bool reaches_beyond(int lag) const { return most != nullptr && most->lag > lag; }
};

/// The tasks that use a root buffer.
struct Users {
  Extent readers, writers;
};

/// Whether it has that name, on whichever device.
bool is_called(std::string_view buffer, std::string_view name) {
  return buffer.substr(0, buffer.find('@')) == name;
}

/// Goes through a step as it is listed.
class LagCheck {
 public:
  explicit LagCheck(const TaskGraph& graph) : graph_(graph), users_(graph.buffers.size()) {}

  void run() {
    for (const Task& task : graph_.tasks) {
      TROIKA_CHECK(task.lag >= 0, fmt::format("'{}' has the lag {}", task.name, task.lag));
      for (const BufferUse& use : task.uses) {
        check_own_step(task, use);
        check_step_values(task, use);
      }
      for (const BufferUse& use : task.uses) {
        Users& users = users_[root_of(use.buffer)];
        (use.access == Access::read ? users.readers : users.writers).add(task);
      }
    }
    for (std::size_t at = 0; at < users_.size(); ++at) check_next_step(at);
    check_host();
  }

 private:
  std::size_t root_of(BufferId id) const { return graph_.root(id).index(); }

  void check_own_step(const Task& task, const BufferUse& use) const {
    const Users& before = users_[root_of(use.buffer)];
    if (before.writers.reaches_beyond(task.lag)) refuse(task, use, *before.writers.most);
    if (use.access != Access::read && before.readers.reaches_beyond(task.lag))
      refuse(task, use, *before.readers.most);
  }

  [[noreturn]] void refuse(const Task& task, const BufferUse& use, const Task& before) const {
    throw Bug(
        fmt::format("'{}' with lag {} needs '{}' as '{}' leaves it, which runs later, with "
                    "lag {}",
                    task.name, task.lag, graph_[use.buffer].name, before.name, before.lag));
  }

  /// Scalars and the control word are the host's, each time for one step.
  void check_step_values(const Task& task, const BufferUse& use) const {
    const std::string& name = graph_[use.buffer].name;
    bool has_scalars = is_called(name, kScalarsName) || name.starts_with(kLaggingScalarsName);
    TROIKA_CHECK(!has_scalars || is_called(name, scalars_name(task.lag)),
                 fmt::format("'{}' with lag {} reads '{}', which has the scalars of another step",
                             task.name, task.lag, name));
    TROIKA_CHECK(task.lag == 0 || use.access == Access::read || !is_called(name, kControlName),
                 fmt::format("'{}' with lag {} writes '{}' after the host has read it", task.name,
                             task.lag, name));
  }

  /// The next step begins one pass later.
  void check_next_step(std::size_t root) const {
    const auto& [readers, writers] = users_[root];
    if (writers.least == nullptr) return;
    for (const Extent* last : {&readers, &writers})
      TROIKA_CHECK(!last->reaches_beyond(writers.least->lag + 1),
                   fmt::format("'{}' is overwritten by '{}' of a later step before '{}' uses it, "
                               "which lags {} more; a lag of 2 or more would need several copies "
                               "of the buffer",
                               graph_.buffers[root].name, writers.least->name, last->most->name,
                               last->most->lag - writers.least->lag));
    if (readers.least == nullptr) return;
    TROIKA_CHECK(!writers.reaches_beyond(readers.least->lag + 1),
                 fmt::format("'{}' of the next step needs '{}' as '{}' leaves it, which lags {} "
                             "more and runs later",
                             readers.least->name, graph_.buffers[root].name, writers.most->name,
                             writers.most->lag - readers.least->lag));
  }

  void check_host() const {
    for (const auto& [name, id] : graph_.inputs)
      for (const Extent& users : {users_[root_of(id)].readers, users_[root_of(id)].writers})
        TROIKA_CHECK(!users.reaches_beyond(0),
                     fmt::format("the host overwrites the input '{}' before '{}' uses it, which "
                                 "has the lag {}",
                                 graph_[id].name, users.most->name, users.most->lag));
    for (const auto& [name, id] : graph_.outputs) check_read_by_host(id);
    for (std::size_t at = 0; at < graph_.buffers.size(); ++at)
      if (graph_.buffers[at].held) check_read_by_host(BufferId(at));
  }

  void check_read_by_host(BufferId id) const {
    const Extent& writers = users_[root_of(id)].writers;
    TROIKA_CHECK(!writers.reaches_beyond(0),
                 fmt::format("the host reads '{}' before '{}' writes it, which has the lag {}",
                             graph_[id].name, writers.most->name, writers.most->lag));
  }

  const TaskGraph& graph_;
  std::vector<Users> users_;  // by root
};

}  // namespace

void check_lags(const TaskGraph& graph) { LagCheck(graph).run(); }

}  // namespace troika
