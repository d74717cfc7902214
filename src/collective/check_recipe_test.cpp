// The checker is checked by mutations: sound recipes are broken in every place, and it must see it.
#include "collective/testing/check_recipe.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"

namespace troika {
namespace {

/// Sound recipes of all algorithms, where no range is empty and nothing is redundant: a barrier of
/// three members could do without some of its order.
std::vector<Recipe> sound_recipes() {
  std::vector<Recipe> recipes;
  for (const Algorithm& algorithm : algorithms()) {
    for (int members : {2, 3, 4, 5, 8}) {
      bool barrier = algorithm.kind == Collective::barrier;
      CollectiveCall call = equal_parts(algorithm.kind, members, barrier ? 0 : 3 * members);
      if (algorithm.name == "hierarchical") {
        for (int member = 0; member < members; ++member) call.nodes.push_back(member % 2);
      }
      if (barrier && (members & (members - 1)) != 0) continue;
      if (!algorithm.why_not(call)) recipes.push_back(make_recipe(call, algorithm.name));
    }
  }
  return recipes;
}

/// Calls mutate(recipe, move) on a fresh copy for each move of each recipe; where that returns true
/// the copy must be found faulty.
template <class Mutate>
int expect_faults(Mutate mutate) {
  int mutations = 0;
  for (const Recipe& recipe : sound_recipes()) {
    for (std::size_t member = 0; member < recipe.members.size(); ++member) {
      for (std::size_t index = 0; index < recipe.members[member].moves.size(); ++index) {
        Recipe broken = recipe;
        if (!mutate(broken.members[member], index)) continue;
        ++mutations;
        EXPECT_TRUE(find_fault(broken).has_value())
            << to_string(recipe.call.kind) << " " << recipe.algorithm << " of "
            << recipe.call.members << ": member " << member << ", move " << index;
      }
    }
  }
  return mutations;
}

/// Whether `move` waits for `earlier` in any way.
bool waits_for(const std::vector<Move>& moves, std::size_t move, int earlier) {
  for (int direct : moves[move].after) {
    if (direct == earlier || waits_for(moves, static_cast<std::size_t>(direct), earlier))
      return true;
  }
  return false;
}

TEST(CheckRecipe, SeesEveryMissingAfter) {
  for (std::size_t which : {0, 1, 2}) {
    int mutations = expect_faults([&](MemberMoves& member, std::size_t index) {
      std::vector<int>& after = member.moves[index].after;
      if (after.size() <= which) return false;
      int dropped = after[which];
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(which));
      return !waits_for(member.moves, index, dropped);
    });
    EXPECT_GT(mutations, 10);
  }
}

TEST(CheckRecipe, SeesEveryRangeThatIsOffByOne) {
  for (std::int64_t shift : {-1, 1}) {
    expect_faults([&](MemberMoves& member, std::size_t index) {
      Range& range = member.moves[index].from.elements;
      range.begin += shift, range.end += shift;
      return range.extent() > 0;
    });
    expect_faults([&](MemberMoves& member, std::size_t index) {
      Range& range = member.moves[index].to.elements;
      range.begin += shift, range.end += shift;
      return range.extent() > 0;
    });
  }
}

TEST(CheckRecipe, SeesEveryMoveThatIsTooShort) {
  expect_faults([&](MemberMoves& member, std::size_t index) {
    Range& range = member.moves[index].from.elements;
    --range.end;
    return range.extent() >= 0;
  });
  expect_faults([&](MemberMoves& member, std::size_t index) {
    Range& range = member.moves[index].to.elements;
    ++range.begin;
    return range.extent() >= 0;
  });
}

TEST(CheckRecipe, SeesReceivesThatStoreInsteadOfCombine) {
  int mutations = expect_faults([&](MemberMoves& member, std::size_t index) {
    Move& move = member.moves[index];
    bool combines = move.kind == MoveKind::receive_reduce || move.kind == MoveKind::reduce;
    if (move.kind == MoveKind::receive_reduce) move.kind = MoveKind::receive;
    if (move.kind == MoveKind::reduce) move.kind = MoveKind::copy;
    return combines;
  });
  EXPECT_GT(mutations, 100);
}

TEST(CheckRecipe, SeesEveryMoveThatIsLeftOut) {
  expect_faults([&](MemberMoves& member, std::size_t index) {
    member.moves.erase(member.moves.begin() + static_cast<std::ptrdiff_t>(index));
    int gone = static_cast<int>(index);
    for (Move& move : member.moves) {
      std::erase(move.after, gone);
      for (int& earlier : move.after) earlier -= earlier > gone;
    }
    return true;
  });
}

TEST(CheckRecipe, SeesScratchThatIsTooSmall) {
  expect_faults([&](MemberMoves& member, std::size_t) { return --member.scratch >= 0; });
}

TEST(CheckRecipe, SeesADeadlock) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 2, 2);
  Recipe recipe = make_recipe(call, "rabenseifner");
  // Each sends only once it has received.
  for (MemberMoves& member : recipe.members) {
    std::swap(member.moves[0], member.moves[1]);
    member.moves[1].after = {0};
  }
  EXPECT_EQ(find_fault(recipe).value_or("none").substr(0, 9), "deadlock:");
}

TEST(CheckRecipe, SeesADeadlockOfSendsThatEndOnlyWhenTheyAreReceived) {
  Recipe recipe = make_recipe(equal_parts(Collective::all_reduce, 2, 2), "rabenseifner");
  for (MemberMoves& member : recipe.members) {
    ASSERT_EQ(member.moves[0].kind, MoveKind::send);
    ASSERT_EQ(member.moves[1].kind, MoveKind::receive_reduce);
    member.moves[1].after.push_back(0);
  }
  EXPECT_EQ(find_fault(recipe).value_or("none").substr(0, 9), "deadlock:");
}

TEST(CheckRecipe, SeesASumThatIsNoTree) {
  for (const char* algorithm : {"ring", "direct"}) {
    CollectiveCall call = equal_parts(Collective::all_reduce, 4, 8);
    Recipe recipe = make_recipe(call, algorithm);
    EXPECT_FALSE(find_fault(recipe));
    recipe.call.order = CombineOrder::tree;
    EXPECT_EQ(find_fault(recipe), "member 0, element 0 holds a sum that is no tree") << algorithm;
  }
}

TEST(CheckRecipe, KnowsOrderThatPeersEstablish) {
  // Member 0 asks once it has the element and gets it again only after an answer.
  CollectiveCall call{.kind = Collective::broadcast, .members = 2, .count = 1, .root = 1};
  Piece element{Space::vector, {0, 1}};
  Recipe recipe{.call = call};
  recipe.members.resize(2);
  recipe.members[0].moves = {{.kind = MoveKind::receive, .peer = 1, .to = element},
                             {.kind = MoveKind::send, .peer = 1, .after = {0}},
                             {.kind = MoveKind::receive, .peer = 1},
                             {.kind = MoveKind::receive, .peer = 1, .to = element, .after = {2}}};
  recipe.members[1].moves = {{.kind = MoveKind::send, .peer = 0, .from = element},
                             {.kind = MoveKind::receive, .peer = 0},
                             {.kind = MoveKind::send, .peer = 0, .after = {1}},
                             {.kind = MoveKind::send, .peer = 0, .from = element}};
  EXPECT_FALSE(find_fault(recipe)) << *find_fault(recipe);
  recipe.members[1].moves[2].after = {};  // answers before it is asked
  EXPECT_EQ(find_fault(recipe).value_or("none").substr(0, 5), "race:");
}

TEST(CheckRecipe, SeesABarrierThatLeaks) {
  Recipe recipe = make_recipe({.kind = Collective::barrier, .members = 4}, "dissemination");
  recipe.members[2].moves[2].after.clear();
  EXPECT_EQ(find_fault(recipe), "member 0 may be done before member 1 has begun");
}

}  // namespace
}  // namespace troika
