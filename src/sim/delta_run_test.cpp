#include "sim/delta_run.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "sim/testing/loop_bodies.h"

namespace troika {
namespace {

/// Times of the tasks of a pass, by task.
std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> by_task(
    std::span<const TaskRun> ran) {
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> times;
  for (const TaskRun& each : ran) {
    auto& own = times[each.task];
    if (each.start != TaskRun::kOpen) own.first = each.start.count;
    if (each.end != TaskRun::kOpen) own.second = each.end.count;
  }
  return times;
}

/// A random loop of links, phases and work, of which one task after the other gets another time.
class ChangingLoop {
 public:
  ChangingLoop(std::uint64_t seed, const OnState& on_state)
      : draws_{.key = 5, .stream = seed},
        body_(SymmetricLoop(seed, 3, false).body.get()),
        delta_(body_, on_state) {
    delta_.run({});
  }

  bool is_exact() const {
    LoopPeriod full = find_period(body_);
    if (delta_.period() != full) return false;
    LoopRun run(body_);
    run.record(full.passes - 1, full.passes - 1);
    while (run.passes() < full.passes && run.run_pass()) continue;
    return by_task(delta_.last_pass()) == by_task(run.take_recorded());
  }

  /// Every third change is taken back. Returns whether all results are right.
  bool change() {
    LoopBody before = body_;
    std::vector<std::int32_t> lengths;
    for (const LoopLane& lane : body_.lanes)
      lengths.push_back(static_cast<std::int32_t>(lane.tasks.size()));
    std::vector<std::int32_t> places = body_.places;
    LoopChange change{.is_fresh = false,
                      .borders = std::vector<std::vector<std::int32_t>>(body_.lanes.size()),
                      .places = places,
                      .lengths = lengths};
    while (!change_task(change)) continue;
    delta_.run(change);
    ran_ += delta_.tasks_run();
    all_ += static_cast<std::int64_t>(delta_.last_pass().size()) * delta_.period().passes;
    bool exact = is_exact();
    if (drawn_ % 3 != 0) return exact;
    body_ = before;
    delta_.undo();
    return exact && is_exact();
  }

  /// Tasks run, and those of all passes.
  std::pair<std::int64_t, std::int64_t> effort() const { return {ran_, all_}; }

 private:
  bool change_task(LoopChange& change) {
    std::size_t lane = draws_.below(drawn_++, body_.lanes.size());
    std::vector<std::int32_t>& tasks = body_.lanes[lane].tasks;
    std::size_t place = draws_.below(drawn_++, tasks.size());
    LoopTask task = body_.tasks[as_index(tasks[place])];
    if (task.kind != TaskKind::compute) return false;
    body_.lanes[lane].work = body_.lanes[lane].work - task.time;
    task.time = {static_cast<std::int64_t>(draws_.below(drawn_++, 70))};
    tasks[place] = add_task(body_, task);
    body_.places.back() = static_cast<std::int32_t>(place);
    change.borders[lane] = {static_cast<std::int32_t>(place)};
    return true;
  }

  RandomStream draws_;
  std::uint64_t drawn_ = 0;
  LoopBody body_;
  DeltaRun delta_;
  std::int64_t ran_ = 0, all_ = 0;
};

TEST(DeltaRun, EqualsARunFromRestUnderContention) {
  std::int64_t ran = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    ChangingLoop loop(seed, {});
    ASSERT_TRUE(loop.is_exact()) << "seed " << seed;
    for (int change = 0; change < 10; ++change)
      ASSERT_TRUE(loop.change()) << "seed " << seed << ", change " << change;
    ran += loop.effort().first, all += loop.effort().second;
  }
  EXPECT_LT(ran, all) << "something is taken over from the former run";
}

/// Whether results are wrong, or the run finds out by itself, if states are kept like this.
bool is_caught(const OnState& damage) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    try {
      ChangingLoop loop(seed, damage);
      for (int change = 0; change < 10; ++change)
        if (!loop.change()) return true;
    } catch (const Bug&) {
      return true;
    }
  }
  return false;
}

/// Damages one field of each of these.
template <class Item, class Field>
OnState without(std::vector<Item> LoopState::*list, Field Item::*field) {
  return [=](LoopState& state) {
    for (Item& item : state.*list) item.*field = {};
  };
}

TEST(DeltaRun, AStateWithoutOneOfItsFieldsIsCaught) {
  using Lane = LoopState::Lane;
  using Message = LoopState::Message;
  EXPECT_FALSE(is_caught([](LoopState&) {}));
  EXPECT_TRUE(is_caught([](LoopState& state) {
    for (Lane& lane : state.lanes)
      if (lane.stage != LaneStage::waits_for_message) lane.next = -1;
  }));
  EXPECT_TRUE(is_caught(without(&LoopState::lanes, &Lane::pass)));
  EXPECT_TRUE(is_caught(without(&LoopState::lanes, &Lane::time)));
  EXPECT_TRUE(is_caught(without(&LoopState::lanes, &Lane::under_way)));
  EXPECT_TRUE(is_caught(without(&LoopState::lanes, &Lane::has_reached)));
  EXPECT_TRUE(is_caught(without(&LoopState::lanes, &Lane::stage)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::step)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::started)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::finished)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::phase)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::repeat)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::open)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::stage)));
  EXPECT_TRUE(is_caught(without(&LoopState::messages, &Message::time)));
  EXPECT_TRUE(is_caught([](LoopState& state) { state.messages.clear(); }));
  EXPECT_TRUE(is_caught([](LoopState& state) { state.working_lanes.clear(); }));
  EXPECT_TRUE(is_caught([](LoopState& state) { state.links.clear(); }));
  EXPECT_TRUE(is_caught(without(&LoopState::processes, &LoopState::Process::open)));
  EXPECT_TRUE(is_caught([](LoopState& state) { state.pass_ends.clear(); }));
  EXPECT_TRUE(is_caught(without(&LoopState::pass_ends, &LoopState::PassEnd::lanes)));
  EXPECT_TRUE(is_caught(without(&LoopState::pass_ends, &LoopState::PassEnd::time)));
}

// Lane 1 has run ahead to the end of its pass while lane 0 of its process still waits for messages.
// Then the last task of lane 0 changes, so that the second run resumes in between.
TEST(DeltaRun, AStateWithoutTheEndOfOtherLanesOfAProcessIsCaught) {
  auto has_right_period = [](const OnState& damage) {
    HandMadeLoop made(3, 1);
    made.compute(1, 5000).process({0, 1}, 10);
    for (std::int32_t message = 0; message < 80; ++message)
      made.start(0, message)
          .start(2, message)
          .finish(0, message)
          .finish(2, message)
          .phase(message, {{0, {5}}});
    LoopBody body = made.compute(0, 1).get();
    DeltaRun delta(body, damage);
    delta.run({});
    std::vector<std::int32_t> places = body.places, lengths;
    for (const LoopLane& lane : body.lanes)
      lengths.push_back(static_cast<std::int32_t>(lane.tasks.size()));
    std::vector<std::int32_t>& tasks = body.lanes[0].tasks;
    auto last = static_cast<std::int32_t>(tasks.size()) - 1;
    tasks.back() = add_task(body, {.lane = 0, .time = {2}});
    body.places.back() = last;
    delta.run(
        {.is_fresh = false, .borders = {{last}, {}, {}}, .places = places, .lengths = lengths});
    return delta.period() == find_period(body);
  };
  EXPECT_TRUE(has_right_period([](LoopState&) {}));
  EXPECT_FALSE(has_right_period(without(&LoopState::processes, &LoopState::Process::time)));
}

}  // namespace
}  // namespace troika
