// The formulas for the memory of members against the moves themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "collective/member_memory.h"

namespace troika {
namespace {

/// Members dealt out to nodes in turn or in blocks, each node with processes of two members.
CollectiveCall on_nodes(CollectiveCall call, int nodes, bool in_turn) {
  int each = (call.members + nodes - 1) / nodes;
  for (int member = 0; member < call.members; ++member) {
    int node = in_turn ? member % nodes : member / each;
    int inside = in_turn ? member / nodes : member % each;
    call.nodes.push_back(node);
    call.processes.push_back(node * 100 + inside / 2);
  }
  return call;
}

void expect_rules(const CollectiveCall& call) {
  for (const Algorithm& algorithm : algorithms(call.kind)) {
    if (algorithm.why_not(call)) continue;
    for (MemberElements elements : {MemberElements{}, MemberElements{DType::bf16}}) {
      std::vector<Bytes> found = memory_of_members(call, algorithm.name, elements);
      ASSERT_EQ(found.size(), static_cast<std::size_t>(call.members));
      for (int member = 0; member < call.members; ++member) {
        MemberRecipe recipe = make_member_recipe(call, algorithm.name, member);
        EXPECT_EQ(found[static_cast<std::size_t>(member)],
                  memory_of_member(recipe, elements).total())
            << fmt::format("{} {}, member {} of {}", to_string(call.kind), algorithm.name, member,
                           call.members);
      }
    }
  }
}

TEST(MemoryRules, EqualTheMemoryOfTheMoves) {
  using enum Collective;
  for (Collective kind : {all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all}) {
    for (int members : {1, 2, 3, 4, 5, 7, 8, 12, 16}) {
      std::int64_t count = kind == all_to_all ? 3 * members : 103;
      for (int nodes : {1, 2, 3, members}) {
        for (bool in_turn : {false, true}) {
          CollectiveCall call = on_nodes(equal_parts(kind, members, count), nodes, in_turn);
          expect_rules(call);
          call.segment = 5;
          expect_rules(call);
          call.order = CombineOrder::tree;
          expect_rules(call);
        }
      }
    }
  }
}

TEST(MemoryRules, FollowRangesOfUnequalLength) {
  for (int members : {2, 4, 5, 8}) {
    CollectiveCall call = equal_parts(Collective::reduce_scatter, members, 4 * members);
    for (int member = 1; member < members; member += 2) {
      Range &before = call.ranges[static_cast<std::size_t>(member - 1)],
            &own = call.ranges[static_cast<std::size_t>(member)];
      before.end -= 3;
      own.begin -= 3;
    }
    for (int nodes : {1, 2, members}) expect_rules(on_nodes(call, nodes, false));
  }
}

}  // namespace
}  // namespace troika
