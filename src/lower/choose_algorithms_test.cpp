#include "lower/choose_algorithms.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

CollectiveCall all_gather_of(const std::vector<std::int64_t>& parts) {
  CollectiveCall call{.kind = Collective::all_gather, .members = static_cast<int>(parts.size())};
  for (std::int64_t part : parts) {
    call.ranges.push_back({call.count, call.count + part});
    call.count += part;
    call.nodes.push_back(static_cast<int>(call.nodes.size()));
    call.processes.push_back(call.nodes.back());
  }
  return call;
}

// A call takes as long as its longest part, so calls of one size may take different times.
TEST(AlgorithmTable, KnowsCallsByTheirLongestPart) {
  Machine machine;
  Sync sync;
  LinkCosts links = assumed_link_costs();
  CollectiveCall one = all_gather_of({50000, 10000, 10000, 10000});
  CollectiveCall other = all_gather_of({30000, 20000, 20000, 10000});
  for (bool one_first : {true, false}) {
    AlgorithmTable known({machine, links, sync});
    for (bool first : {true, false}) {
      const CollectiveCall& call = first == one_first ? one : other;
      EXPECT_EQ(known.choose(call, DType::f32).time, choose_algorithm(call, {4}, links).time)
          << call.ranges[0].extent();
    }
  }
}

}  // namespace
}  // namespace troika
