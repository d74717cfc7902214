// The recipes and message tags of a program's communications: the same on every rank, because both
// follow from the task graph alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collective/recipe.h"
#include "taskgraph/task_graph.h"

namespace troika {

class PreparedMessages {
 public:
  PreparedMessages() = default;
  /// Takes tags from `first_tag` on; programs of one session take disjoint ones.
  PreparedMessages(const TaskGraph& graph, std::uint32_t first_tag);

  const Recipe& recipe(CommunicationId id) const { return *recipes_[id.index()]; }
  std::uint32_t tag(CommunicationId id) const { return tags_[id.index()]; }
  std::uint32_t next_tag() const { return next_tag_; }

 private:
  std::vector<std::shared_ptr<const Recipe>> recipes_;  // equal calls share one
  std::vector<std::uint32_t> tags_;
  std::uint32_t next_tag_ = 0;
};

}  // namespace troika
