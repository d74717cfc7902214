#include "collective/phases.h"

#include <gtest/gtest.h>

#include <map>

#include "collective/algorithms.h"

namespace troika {
namespace {

/// Elements from one member to another, over the whole collective.
using Traffic = std::map<std::pair<int, int>, std::int64_t>;

Traffic traffic_of(const Recipe& recipe) {
  Traffic traffic;
  for (int member = 0; member < recipe.call.members; ++member)
    for (const Move& move : recipe.members[static_cast<std::size_t>(member)].moves)
      if (move.kind == MoveKind::send && !move.from.elements.empty())
        traffic[{member, move.peer}] += move.from.elements.extent();
  return traffic;
}

Traffic traffic_of(const CollectivePhases& phases) {
  Traffic traffic;
  for (const CollectivePhase& phase : phases.phases) {
    for_each_send(phases, phase, [&](int from, int to) {
      if (phase.elements > 0 && phase.repeats > 0)
        traffic[{from, to}] += phase.elements * phase.messages * phase.repeats;
      return true;
    });
  }
  return traffic;
}

TEST(Phases, SendWhatTheRecipeSends) {
  int compared = 0;
  for (int members : {1, 2, 4, 8, 16, 32}) {
    for (const Algorithm& algorithm : algorithms()) {
      CollectiveCall call = equal_parts(algorithm.kind, members,
                                        algorithm.kind == Collective::barrier ? 0 : 64 * members);
      if (algorithm.why_not(call)) continue;
      EXPECT_EQ(traffic_of(phases_of(call, algorithm.name)),
                traffic_of(make_recipe(call, algorithm.name)))
          << to_string(algorithm.kind) << " " << algorithm.name << " of " << members;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Phases, OfAnyNumberOfMembersSendWhatTheRecipeSends) {
  for (int members : {3, 5, 6, 12, 33}) {
    for (const char* name : {"ring", "rabenseifner", "recursive_doubling"}) {
      CollectiveCall call = equal_parts(Collective::all_reduce, members, 960 * members);
      EXPECT_EQ(traffic_of(phases_of(call, name)), traffic_of(make_recipe(call, name)))
          << name << " of " << members;
    }
  }
}

TEST(Phases, OfNodesSendWhatTheRecipeSends) {
  for (int nodes : {2, 3, 4, 6}) {
    CollectiveCall call = equal_parts(Collective::all_reduce, 4 * nodes, 240 * nodes);
    for (int member = 0; member < call.members; ++member) call.nodes.push_back(member / 4);
    EXPECT_EQ(traffic_of(phases_of(call, "hierarchical")),
              traffic_of(make_recipe(call, "hierarchical")))
        << nodes << " nodes of 4";
  }
}

TEST(Phases, DoNotGrowWithTheMembersOfARing) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 9216, 9216 * 100);
  CollectivePhases phases = phases_of(call, "ring");
  ASSERT_EQ(phases.phases.size(), 2u);
  EXPECT_EQ(phases.phases[0].repeats, 9215);
  EXPECT_EQ(phases.phases[0].work, MemoryWork::combine);
  EXPECT_EQ(phases.phases[1].work, MemoryWork::none);
}

TEST(Phases, SendsCanBeStopped) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 8, 64);
  CollectivePhases phases = phases_of(call, "ring");
  int seen = 0;
  for_each_send(phases, phases.phases[0], [&](int, int) { return ++seen < 3; });
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace troika
