#include "sim/loop_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sim/loop_period.h"

namespace troika {
namespace {

/// Writes a loop body down task by task, in the order of a pass.
class Body {
 public:
  Body(std::size_t lanes, std::size_t links, SimTime chunk = {10}) {
    body_.lanes.resize(lanes);
    body_.links.assign(links, {.chunk = chunk});
    body_.costs.work_chunk = chunk;
  }

  Body& compute(std::int32_t lane, std::int64_t time) {
    return add({.lane = lane, .time = {time}, .kind = TaskKind::compute});
  }
  Body& start(std::int32_t lane, std::int32_t message) {
    at(message);
    return add({.lane = lane, .message = message, .kind = TaskKind::start});
  }
  Body& finish(std::int32_t lane, std::int32_t message, std::int32_t lag = 0) {
    at(message);
    return add({.lane = lane, .message = message, .lag = lag, .kind = TaskKind::finish});
  }
  /// A phase of a message, behind those it has. Phases of a message must be given in one go.
  Body& phase(std::int32_t message, std::vector<LinkLoad> loads, MessagePhase rest = {}) {
    LoopMessage& own = at(message);
    if (own.phases++ == 0) own.first_phase = static_cast<std::int32_t>(body_.phases.size());
    rest.first_load = static_cast<std::int32_t>(body_.loads.size());
    rest.loads = static_cast<std::int32_t>(loads.size());
    body_.loads.insert(body_.loads.end(), loads.begin(), loads.end());
    body_.phases.push_back(rest);
    return *this;
  }
  Body& urgency(std::int32_t message, std::uint64_t urgency) {
    at(message).urgency = urgency;
    return *this;
  }
  Body& order(std::int32_t message, std::uint64_t order) {
    at(message).order = order;
    return *this;
  }
  Body& between_kernels(std::int64_t time) {
    body_.costs.between_kernels = {time};
    return *this;
  }

  const LoopBody& get() const { return body_; }
  std::int64_t period() const { return find_period(body_).time.count; }
  /// When each task ends in a step from rest.
  std::vector<std::int64_t> ends() const {
    LoopRun run(body_, 1);
    run.record(0, largest_lag(body_));
    while (run.run_pass()) continue;
    std::vector<std::int64_t> all(body_.tasks.size(), -1);
    for (const TaskRun& times : run.take_recorded())
      if (times.end != TaskRun::kOpen) all[as_index(times.task)] = times.end.count;
    return all;
  }
  std::int64_t end() const { return std::ranges::max(ends()); }

 private:
  LoopMessage& at(std::int32_t message) {
    if (std::ssize(body_.messages) <= message) body_.messages.resize(as_index(message) + 1);
    return body_.messages[as_index(message)];
  }
  Body& add(LoopTask task) {
    place_last(body_, add_task(body_, task));
    return *this;
  }

  LoopBody body_;
};

/// A message from lane 0 to lane 1 over these links.
Body transfers(std::size_t count, std::size_t links) {
  Body body(2, links);
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(count); ++at)
    body.start(0, at)
        .start(1, at)
        .order(at, static_cast<std::uint64_t>(at))
        .phase(at, {{static_cast<std::int32_t>(as_index(at) % links), {100}}}, {.latency = {5}});
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(count); ++at)
    body.finish(0, at).finish(1, at);
  return body;
}

TEST(LoopRun, TwoTransfersOnOneLinkFollowEachOtherAndOnTwoOverlap) {
  EXPECT_EQ(transfers(1, 1).end(), 105);
  EXPECT_EQ(transfers(2, 1).end(), 205) << "the latency occupies nothing";
  EXPECT_EQ(transfers(2, 2).end(), 105);
}

TEST(LoopRun, PhasesFollowEachOtherAndEachLastsAsLongAsItsSlowestLink) {
  Body body(2, 2);
  body.start(0, 0).start(1, 0).finish(0, 0).finish(1, 0);
  body.phase(0, {{0, {30}}, {1, {50}}}, {.latency = {5}, .repeats = 3}).phase(0, {{0, {20}}});
  EXPECT_EQ(body.end(), 3 * 55 + 20);
}

TEST(LoopRun, AnUrgentMessageOvertakesABulkyOneAtAChunkBorder) {
  Body body(2, 1);
  body.start(0, 0).start(1, 0).compute(0, 13).start(0, 1).start(1, 1);
  body.finish(0, 1).finish(1, 1).finish(0, 0).finish(1, 0);
  body.phase(0, {{0, {100}}}).phase(1, {{0, {5}}});
  EXPECT_EQ(body.ends()[5], 105) << "behind the bulky one";
  body.urgency(1, 1);
  EXPECT_EQ(body.ends()[5], 25) << "at the border of 20";
  EXPECT_EQ(body.ends()[7], 105) << "the bulky one loses just that";
}

// The time of a sharded sum in the LogGP model (Alexandrov et al. 1995, doi:10.1145/215399.215427),
// without overhead: each owner receives a part of every device's vector and sends it back.
TEST(LoopRun, SumsOverOwnersTakeTwoLatenciesAndTwoPassesOfTheOwnersLink) {
  const std::int32_t devices = 6, owners = 3;
  const std::int64_t latency = 1000, elements = 1200, bytes = 4, gap = 2;
  const SimTime part{elements / owners * bytes * gap};
  Body body(devices + owners, 2 * owners, {64});
  auto number = [&](std::int32_t back, std::int32_t device, std::int32_t owner) {
    return (back * devices + device) * owners + owner;
  };
  for (std::int32_t device = 0; device < devices; ++device)
    for (std::int32_t owner = 0; owner < owners; ++owner)
      for (std::int32_t back : {0, 1})
        body.phase(number(back, device, owner), {{2 * owner + back, part}}, {.latency = {latency}})
            .order(number(back, device, owner), static_cast<std::uint64_t>(back));
  auto all = [&](std::int32_t back, auto&& add) {
    for (std::int32_t device = 0; device < devices; ++device)
      for (std::int32_t owner = 0; owner < owners; ++owner)
        for (std::int32_t lane : {device, devices + owner}) add(lane, number(back, device, owner));
  };
  all(0, [&](auto lane, auto message) { body.start(lane, message); });
  all(0, [&](auto lane, auto message) { body.finish(lane, message); });
  all(1, [&](auto lane, auto message) { body.start(lane, message); });
  all(1, [&](auto lane, auto message) { body.finish(lane, message); });
  EXPECT_EQ(body.end(), 2 * latency + 2 * devices * bytes * (elements / owners) * gap);
}

TEST(LoopRun, ADeviceMovesMessagesBetweenKernelsAndWhileItWaits) {
  Body body(2, 0);
  body.start(0, 0).start(1, 0).compute(0, 100).compute(0, 100).finish(0, 0).compute(1, 50);
  body.finish(1, 0).phase(0, {}, {.work = {80}});
  // Lane 1 moves from 50 on, lane 0 only when its second kernel has ended.
  EXPECT_EQ(body.ends(), (std::vector<std::int64_t>{0, 0, 100, 200, 280, 50, 280}));
  body.between_kernels(35);
  // 40 after each kernel, as chunks of 10 end.
  EXPECT_EQ(body.ends(), (std::vector<std::int64_t>{0, 0, 100, 240, 280, 50, 280}));
}

TEST(LoopRun, WhoIsNotWaitedForStillMovesItsPart) {
  // Lane 1 computes for long after it has started: the message waits for it.
  Body body(2, 0);
  body.start(0, 0).start(1, 0).finish(0, 0).compute(1, 500).finish(1, 0);
  body.phase(0, {}, {.work = {80}});
  EXPECT_EQ(body.ends()[2], 580);
}

TEST(LoopRun, AWaitingDeviceEndsItsChunkOfAnotherMessageFirst) {
  // Lane 0 waits for message 0 of a link, which ends at 25, and moves message 1 meanwhile.
  Body body(2, 1);
  body.start(0, 0).start(1, 0).start(0, 1).start(1, 1).finish(0, 0).finish(0, 1);
  body.compute(1, 25).finish(1, 0).finish(1, 1);
  body.phase(0, {{0, {25}}}).phase(1, {}, {.work = {40}});
  EXPECT_EQ(body.ends()[4], 30);
  EXPECT_EQ(body.ends()[5], 65) << "lane 1 begins at 25";
}

TEST(LoopRun, ALaggingMessageOverlapsTheNextStep) {
  Body body(1, 1);
  body.finish(0, 0, 1).compute(0, 100).start(0, 0).phase(0, {{0, {60}}});
  EXPECT_EQ(body.period(), 160);
  Body later(1, 1);
  later.compute(0, 100).finish(0, 0, 1).start(0, 0).phase(0, {{0, {60}}});
  EXPECT_EQ(later.period(), 100);
}

TEST(LoopRun, MessagesOfTwoStepsShareALink) {
  // The link is busy for longer than the device: it is the bottleneck.
  Body body(1, 1);
  body.compute(0, 50).finish(0, 0, 1).start(0, 0).phase(0, {{0, {80}}});
  EXPECT_EQ(body.period(), 80);
}

TEST(LoopRun, PassesWithoutTimeEnd) {
  Body body(2, 0);
  body.compute(0, 0).start(0, 0).start(1, 0).finish(0, 0).finish(1, 0).phase(0, {});
  EXPECT_EQ(body.period(), 0);
}

TEST(LoopRun, TheOrderOfLanesDoesNotMatterWithinAnInstant) {
  // Lane 0 waits for message 0 and moves it. Message 1 begins at the same instant, after a kernel
  // of no time, whether its members are listed before lane 0 or behind it.
  auto ends_with = [](std::int32_t waiting, std::int32_t first, std::int32_t second) {
    Body body(3, 0);
    body.start(first, 0).start(second, 0).start(waiting, 0);
    body.compute(first, 20).compute(second, 20).compute(waiting, 20);
    body.start(first, 1).start(second, 1).start(waiting, 1);
    for (std::int32_t lane : {waiting, first, second}) body.finish(lane, 0).finish(lane, 1);
    body.phase(0, {}, {.work = {35}}).phase(1, {}, {.work = {15}}).urgency(1, 1);
    return body.end();
  };
  EXPECT_EQ(ends_with(0, 1, 2), ends_with(2, 0, 1));
  EXPECT_EQ(ends_with(0, 1, 2), ends_with(1, 2, 0));
}

/// Random loops of `pairs` pairs of lanes that all do the same: each pair has its own link and all
/// share one. Folded, one pair stands for all.
struct SymmetricLoop {
  SymmetricLoop(std::uint64_t seed, std::int32_t pairs, bool folded) : body(1, 1) {
    RandomStream draws{.key = 11, .stream = seed};
    std::uint64_t drawn = 0;
    auto draw = [&](std::uint64_t below) {
      return static_cast<std::int64_t>(draws.below(drawn++, below));
    };
    std::int32_t shown = folded ? 1 : pairs;
    auto shared_link = shown;
    body = Body(as_index(2 * shown), as_index(shown + 1));
    body.between_kernels(25);
    auto messages = static_cast<std::int32_t>(2 + draw(4));
    for (std::int32_t message = 0; message < messages; ++message) {
      SimTime own{1 + draw(60)}, shared{draw(40)}, work{draw(2) * draw(50)}, latency{draw(9)};
      auto urgency = static_cast<std::uint64_t>(draw(3));
      for (std::int32_t pair = 0; pair < shown; ++pair) {
        std::int32_t number = message * shown + pair;
        // All pairs cross the shared link: folded, their requests are one.
        SimTime crossing = shared * (folded ? pairs : 1);
        body.phase(
            number, {{pair, own}, {shared_link, crossing}},
            {.work = work, .latency = latency, .repeats = static_cast<int>(1 + message % 2)});
        body.urgency(number, urgency).order(number, static_cast<std::uint64_t>(message));
      }
    }
    add_tasks(draw, shown, messages);
  }

  template <class Draw>
  void add_tasks(const Draw& draw, std::int32_t shown, std::int32_t messages) {
    std::vector<std::int64_t> times;
    for (std::int32_t at = 0; at < 8 * messages; ++at) times.push_back(draw(70));
    for (std::int32_t lane = 0; lane < 2 * shown; ++lane) {
      auto time = times.begin() + (lane % 2) * 4 * messages;
      for (std::int32_t message = 0; message < messages; ++message)
        body.compute(lane, *time++).start(lane, message * shown + lane / 2).compute(lane, *time++);
      for (std::int32_t message = messages - 1; message >= 0; --message)
        body.finish(lane, message * shown + lane / 2).compute(lane, *time++);
    }
  }

  Body body;
};

TEST(LoopRun, FoldedLoopsTakeTheTimeOfAllDevicesUnderContention) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Body folded = SymmetricLoop(seed, 5, true).body, all = SymmetricLoop(seed, 5, false).body;
    ASSERT_EQ(folded.period(), all.period()) << "seed " << seed;
    std::vector<std::int64_t> one = folded.ends(), every = all.ends();
    for (std::size_t at = 0; at < every.size(); ++at)
      ASSERT_EQ(every[at], one[at % one.size()]) << "seed " << seed << ", task " << at;
  }
}

/// The time of a random loop under another unit of time.
TEST(LoopRun, TimesScaleWithTheUnit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    LoopBody body = SymmetricLoop(seed, 3, false).body.get();
    std::int64_t before = find_period(body).time.count;
    for (LoopTask& task : body.tasks) task.time = task.time * 8;
    for (LinkLoad& load : body.loads) load.time = load.time * 8;
    for (MessagePhase& phase : body.phases)
      phase.work = phase.work * 8, phase.latency = phase.latency * 8;
    for (DirectedLink& link : body.links) link.chunk = link.chunk * 8;
    body.costs = {body.costs.between_kernels * 8, body.costs.work_chunk * 8};
    ASSERT_NEAR(static_cast<double>(find_period(body).time.count) / 8, static_cast<double>(before),
                1)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace troika
