// The moves and message tags of this rank's devices in a program's communications. Both follow from
// the communications alone, so ranks agree on them without exchanging anything.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/pair_tags.h"
#include "taskgraph/task_graph.h"

namespace troika {

class PreparedMessages {
 public:
  /// One member's part in a communication.
  struct Part {
    std::shared_ptr<const MemberRecipe> recipe;  ///< Equal calls share one.
    ChannelTags tags;
  };

  PreparedMessages() = default;
  /// For the members that are among `devices`. Takes tags after those of `earlier`, whose program
  /// works on the same transport.
  PreparedMessages(const TaskGraph& graph, const std::vector<DeviceId>& devices,
                   const PreparedMessages& earlier);

  const Part& part(CommunicationId id, int member) const { return parts_.at({id.index(), member}); }

 private:
  std::map<std::pair<std::size_t, int>, Part> parts_;  // by communication and member
  std::map<DeviceId, PairTags> tags_;
};

}  // namespace troika
