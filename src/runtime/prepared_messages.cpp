#include "runtime/prepared_messages.h"

#include <algorithm>

#include "collective/algorithms.h"
#include "comm/bound_moves.h"

namespace troika {

PreparedMessages::PreparedMessages(const TaskGraph& graph, std::uint32_t first_tag)
    : next_tag_(first_tag) {
  for (const Communication& communication : graph.communications) {
    auto same = std::ranges::find_if(recipes_, [&](const auto& recipe) {
      return recipe->call == communication.call && recipe->algorithm == communication.algorithm;
    });
    recipes_.push_back(same != recipes_.end()
                           ? *same
                           : std::make_shared<const Recipe>(
                                 make_recipe(communication.call, communication.algorithm)));
    tags_.push_back(next_tag_);
    next_tag_ += tags_of(*recipes_.back());
  }
}

}  // namespace troika
