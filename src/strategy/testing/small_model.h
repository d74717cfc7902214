// For tests: splits of a small model on four devices.
#pragma once

#include <string>
#include <vector>

#include "graph/text.h"
#include "strategy/strategy.h"

namespace troika {

inline const char* kSmallModel = R"(graph small
input x f32[8,4,6,6]
parameter conv.weight f32[4,4,3,3] zeros
parameter bn.gamma f32[4] ones
parameter bn.beta f32[4] zeros
parameter bn.running_mean f32[4] zeros state
parameter bn.running_var f32[4] ones state
operator conv conv2d{out=4,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator bn batch_norm{shards=2} (conv) [bn.gamma bn.beta bn.running_mean bn.running_var] -> bn
)";

inline Graph small_model() { return parse_graph(kSmallModel); }
inline Machine machine_of(std::size_t devices) {
  return {std::vector<DeviceSpec>(devices, {.name = "cpu", .kind = "test"})};
}

inline std::vector<DeviceId> on(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> ids;
  for (std::size_t index : indices) ids.push_back(DeviceId(index));
  return ids;
}

/// The sentence against this split of an operator on four devices, or "fits".
inline std::string answer(const std::string& op, const Split& split,
                          std::int64_t micro_batches = 1) {
  Strategy strategy{.splits = {{op, split}}, .micro_batches = micro_batches};
  return why_infeasible(strategy, small_model(), machine_of(4)).value_or("fits");
}

}  // namespace troika
