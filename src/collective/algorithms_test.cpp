#include "collective/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "collective/testing/check_recipe.h"

namespace troika {
namespace {

constexpr int kMostMembers = 33;

std::string label(const Algorithm& algorithm, const CollectiveCall& call) {
  std::string text = std::string(to_string(call.kind)) + " " + std::string(algorithm.name);
  return text + " P=" + std::to_string(call.members) + " count=" + std::to_string(call.count) +
         " root=" + std::to_string(call.root) + " segment=" + std::to_string(call.segment);
}

/// Of those that do work; permissions are given as a whole.
std::int64_t longest_move(const MemberMoves& member) {
  std::int64_t longest = 0;
  for (const Move& move : member.moves) {
    if (move.kind == MoveKind::lend || move.kind == MoveKind::borrow ||
        move.kind == MoveKind::give_back)
      continue;
    longest = std::max({longest, move.from.elements.extent(), move.to.elements.extent()});
  }
  return longest;
}

/// Checks the call with every algorithm of its kind that takes it; says how many did.
int check_all(const CollectiveCall& call) {
  int checked = 0;
  for (const Algorithm& algorithm : algorithms(call.kind)) {
    if (algorithm.why_not(call)) continue;
    auto fault = find_fault(make_recipe(call, algorithm.name));
    EXPECT_FALSE(fault.has_value()) << label(algorithm, call) << ": " << fault.value_or("");
    EXPECT_LE(longest_move(make_moves(call, algorithm.name, 0)),
              call.segment > 0 ? call.segment : call.count)
        << label(algorithm, call);
    ++checked;
  }
  return checked;
}

std::set<std::int64_t> counts(int members) { return {0, 1, 7, members - 1, members + 1, 100}; }

/// Ranges with holes, out of order and empty ones among them.
CollectiveCall odd_ranges(Collective kind, int members) {
  CollectiveCall call{.kind = kind, .members = members};
  call.ranges.resize(static_cast<std::size_t>(members));
  for (int turn = 0; turn < members; ++turn) {
    auto member = static_cast<std::size_t>((turn + members / 3) % members);
    call.count += member % 3 == 0 ? 2 : 0;
    call.ranges[member] = {call.count, call.count + static_cast<std::int64_t>(member * 5 + 2) % 4};
    call.count = call.ranges[member].end;
  }
  call.count += 3;
  return call;
}

class EveryAlgorithm : public testing::TestWithParam<Collective> {};

TEST_P(EveryAlgorithm, DoesItsCallForAnyMembersAndCount) {
  for (int members = 1; members <= kMostMembers; ++members) {
    for (std::int64_t count : counts(members)) {
      CollectiveCall call = equal_parts(GetParam(), members, count);
      if (call.kind == Collective::barrier) call.count = 0;
      EXPECT_GE(check_all(call), 1);
    }
  }
}

TEST_P(EveryAlgorithm, DoesItsCallInSegmentsAndForAnyRoot) {
  for (int members : {2, 3, 4, 7, 8, 12, 16}) {
    for (std::int64_t segment : {1, 3, 10}) {
      CollectiveCall call =
          equal_parts(GetParam(), members, GetParam() == Collective::barrier ? 0 : 50);
      call.segment = segment;
      call.root = static_cast<int>(segment) % members;
      EXPECT_GE(check_all(call), 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryAlgorithm,
                         testing::Values(Collective::all_reduce, Collective::reduce_scatter,
                                         Collective::all_gather, Collective::broadcast,
                                         Collective::reduce, Collective::all_to_all,
                                         Collective::gather, Collective::scatter,
                                         Collective::barrier),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST(Algorithms, CombineAsATreeWhereThatIsAsked) {
  using enum Collective;
  for (Collective kind : {all_reduce, reduce, reduce_scatter}) {
    for (int members : {1, 2, 4, 8, 16, 32}) {
      for (std::int64_t segment : {0, 3}) {
        CollectiveCall call = equal_parts(kind, members, 70);
        call.order = CombineOrder::tree;
        call.segment = segment;
        call.root = members / 3;
        EXPECT_GE(check_all(call), 2);
      }
    }
  }
}

TEST(Algorithms, TakeRangesWithHolesOutOfOrderAndEmpty) {
  using enum Collective;
  for (Collective kind : {reduce_scatter, all_gather, gather, scatter}) {
    for (int members = 1; members <= kMostMembers; ++members) {
      CollectiveCall call = odd_ranges(kind, members);
      call.root = members / 2;
      EXPECT_GE(check_all(call), 1);
      if (kind != reduce_scatter || (members & (members - 1)) != 0) continue;
      call.order = CombineOrder::tree;
      EXPECT_GE(check_all(call), 1);
    }
  }
}

TEST(Algorithms, HierarchicalTakesNodesOfAnySizeAndOrder) {
  for (int members = 2; members <= kMostMembers; ++members) {
    for (int nodes = 2; nodes < members; nodes += 1 + nodes / 3) {
      for (bool by_turns : {false, true}) {
        CollectiveCall call = equal_parts(Collective::all_reduce, members, 41);
        for (int member = 0; member < members; ++member)
          call.nodes.push_back(by_turns ? member % nodes : member * nodes / members);
        auto fault = find_fault(make_recipe(call, "hierarchical"));
        EXPECT_FALSE(fault.has_value()) << members << " on " << nodes << ": " << fault.value_or("");
      }
    }
  }
}

TEST(Algorithms, SayWhyTheyDecline) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 6, 10);
  EXPECT_FALSE(find_algorithm(call.kind, "direct").why_not(call));
  EXPECT_EQ(find_algorithm(call.kind, "hierarchical").why_not(call),
            "all members are in one process");
  call.processes = {0, 0, 0, 1, 1, 1};
  EXPECT_EQ(find_algorithm(call.kind, "direct").why_not(call), "members 0 and 3 share no memory");
  EXPECT_FALSE(find_algorithm(call.kind, "hierarchical").why_not(call));
  call.order = CombineOrder::tree;
  EXPECT_EQ(find_algorithm(call.kind, "rabenseifner").why_not(call),
            "the fixed order needs a power of two members and there are 6");
}

TEST(Algorithms, RefuseAnUnknownNameWithTheListOfNames) {
  try {
    find_algorithm(Collective::all_gather, "rign");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "there is no all_gather algorithm 'rign'; there are recursive_doubling, ring, bruck");
  }
}

TEST(Algorithms, NeedLittleScratch) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 8, 800);
  for (const Algorithm& algorithm : algorithms(call.kind)) {
    if (algorithm.why_not(call)) continue;
    std::int64_t most = algorithm.name == "recursive_doubling" ? 800 : 0;
    EXPECT_LE(make_moves(call, algorithm.name, 3).scratch, most) << algorithm.name;
  }
  call = equal_parts(Collective::reduce_scatter, 16, 800);
  call.order = CombineOrder::tree;
  EXPECT_LE(make_moves(call, "pairwise", 3).scratch, 3 * 50);
}

TEST(Algorithms, SayWhetherTheyCombineOnTheWay) {
  auto combines = [](const Move& move) {
    return move.kind == MoveKind::reduce || move.kind == MoveKind::receive_reduce;
  };
  for (const Algorithm& algorithm : algorithms()) {
    for (int members = 1; members <= 9; ++members) {
      for (std::int64_t count : {0, 1, 100}) {
        if (algorithm.kind == Collective::barrier && count > 0) continue;
        CollectiveCall call = equal_parts(algorithm.kind, members, count);
        if (algorithm.name == "hierarchical")
          for (int member = 0; member < members; ++member) call.processes.push_back(member / 2);
        if (algorithm.why_not(call)) continue;
        bool found = false;
        for (const MemberMoves& member : make_recipe(call, algorithm.name).members)
          found = found || std::ranges::any_of(member.moves, combines);
        EXPECT_EQ(combines_on_the_way(call, algorithm.name), found)
            << to_string(call.kind) << " by " << algorithm.name << " of " << count << " among "
            << members;
      }
    }
  }
}

}  // namespace
}  // namespace troika
