#include "sim/loop_run.h"

#include <gtest/gtest.h>

#include "sim/testing/loop_bodies.h"

namespace troika {
namespace {

/// A message from lane 0 to lane 1 over these links.
HandMadeLoop transfers(std::size_t count, std::size_t links) {
  HandMadeLoop body(2, links);
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
  HandMadeLoop body(2, 2);
  body.start(0, 0).start(1, 0).finish(0, 0).finish(1, 0);
  body.phase(0, {{0, {30}}, {1, {50}}}, {.latency = {5}, .repeats = 3}).phase(0, {{0, {20}}});
  EXPECT_EQ(body.end(), 3 * 55 + 20);
}

TEST(LoopRun, AnUrgentMessageOvertakesABulkyOneAtAChunkBorder) {
  HandMadeLoop body(2, 1);
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
  HandMadeLoop body(devices + owners, 2 * owners, {64});
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
  HandMadeLoop body(2, 0);
  body.start(0, 0).start(1, 0).compute(0, 100).compute(0, 100).finish(0, 0).compute(1, 50);
  body.finish(1, 0).phase(0, {}, {.work = {80}});
  // Lane 1 moves from 50 on, lane 0 only when its second kernel has ended.
  EXPECT_EQ(body.ends(), (std::vector<std::int64_t>{0, 0, 100, 200, 280, 50, 280}));
  body.between_kernels(35);
  // 40 after each kernel, as chunks of 10 end.
  EXPECT_EQ(body.ends(), (std::vector<std::int64_t>{0, 0, 100, 240, 280, 50, 280}));
}

TEST(LoopRun, AThreadBesideMovesMessagesDuringKernels) {
  HandMadeLoop body(2, 0);
  body.start(0, 0).start(1, 0).compute(0, 100).compute(0, 100).finish(0, 0).compute(1, 50);
  body.finish(1, 0).phase(0, {}, {.work = {80}}).between_kernels(35).moves_beside();
  EXPECT_EQ(body.ends(), (std::vector<std::int64_t>{0, 0, 100, 200, 200, 50, 80}));
}

TEST(LoopRun, AThreadBesideMovesOneMessageAfterTheOther) {
  HandMadeLoop body(1, 0);
  body.start(0, 0).start(0, 1).compute(0, 15).start(0, 2).compute(0, 200);
  for (std::int32_t message : {0, 1, 2}) {
    body.finish(0, message).phase(message, {}, {.work = {40}});
    body.order(message, static_cast<std::uint64_t>(message));
  }
  body.urgency(2, 1).moves_beside();
  LoopRun run(body.get(), 1);
  run.record_messages(0);
  while (run.run_pass()) continue;
  EXPECT_EQ(run.message_ends(), (std::vector<SimTime>{{80}, {120}, {60}}))
      << "the urgent one overtakes at the border of 20";
}

TEST(LoopRun, WhoIsNotWaitedForStillMovesItsPart) {
  // Lane 1 computes for long after it has started: the message waits for it.
  HandMadeLoop body(2, 0);
  body.start(0, 0).start(1, 0).finish(0, 0).compute(1, 500).finish(1, 0);
  body.phase(0, {}, {.work = {80}});
  EXPECT_EQ(body.ends()[2], 580);
}

TEST(LoopRun, AWaitingDeviceEndsItsChunkOfAnotherMessageFirst) {
  // Lane 0 waits for message 0 of a link, which ends at 25, and moves message 1 meanwhile.
  HandMadeLoop body(2, 1);
  body.start(0, 0).start(1, 0).start(0, 1).start(1, 1).finish(0, 0).finish(0, 1);
  body.compute(1, 25).finish(1, 0).finish(1, 1);
  body.phase(0, {{0, {25}}}).phase(1, {}, {.work = {40}});
  EXPECT_EQ(body.ends()[4], 30);
  EXPECT_EQ(body.ends()[5], 65) << "lane 1 begins at 25";
}

TEST(LoopRun, ALaggingMessageOverlapsTheNextStep) {
  HandMadeLoop body(1, 1);
  body.finish(0, 0, 1).compute(0, 100).start(0, 0).phase(0, {{0, {60}}});
  EXPECT_EQ(body.period(), 160);
  HandMadeLoop later(1, 1);
  later.compute(0, 100).finish(0, 0, 1).start(0, 0).phase(0, {{0, {60}}});
  EXPECT_EQ(later.period(), 100);
}

TEST(LoopRun, MessagesOfTwoStepsShareALink) {
  // The link is busy for longer than the device: it is the bottleneck.
  HandMadeLoop body(1, 1);
  body.compute(0, 50).finish(0, 0, 1).start(0, 0).phase(0, {{0, {80}}});
  EXPECT_EQ(body.period(), 80);
}

TEST(LoopRun, DevicesOfAProcessBeginEachPassTogether) {
  // Lane 0 could begin its next pass while lane 1 still works on what it has sent.
  auto body = [] {
    HandMadeLoop made(2, 0);
    made.compute(0, 100).start(0, 0).finish(0, 0).phase(0, {});
    return made.start(1, 0).finish(1, 0).compute(1, 90);
  };
  EXPECT_EQ(body().period(), 100);
  EXPECT_EQ(body().process({0}, 7).process({1}, 3).period(), 107);
  EXPECT_EQ(body().process({0, 1}, 0).period(), 190);
  EXPECT_EQ(body().process({0, 1}, 5).period(), 195);
}

TEST(LoopRun, AProcessThatWaitsForNobodyStaysNearTheOthers) {
  HandMadeLoop body(3, 0);
  body.compute(0, 1).compute(1, 2).compute(2, 100).process({0, 1}, 1).process({2}, 1);
  EXPECT_EQ(body.period(), 101);
}

TEST(LoopRun, PassesWithoutTimeEnd) {
  HandMadeLoop body(2, 0);
  body.compute(0, 0).start(0, 0).start(1, 0).finish(0, 0).finish(1, 0).phase(0, {});
  EXPECT_EQ(body.period(), 0);
}

TEST(LoopRun, TheOrderOfLanesDoesNotMatterWithinAnInstant) {
  // Lane 0 waits for message 0 and moves it. Message 1 begins at the same instant, after a kernel
  // of no time, whether its members are listed before lane 0 or behind it.
  auto ends_with = [](std::int32_t waiting, std::int32_t first, std::int32_t second) {
    HandMadeLoop body(3, 0);
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

TEST(LoopRun, FoldedLoopsTakeTheTimeOfAllDevicesUnderContention) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    HandMadeLoop folded = SymmetricLoop(seed, 5, true).body,
                 all = SymmetricLoop(seed, 5, false).body;
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
    for (LoopProcess& process : body.processes) process.rest = process.rest * 8;
    body.costs.between_kernels = body.costs.between_kernels * 8;
    body.costs.work_chunk = body.costs.work_chunk * 8;
    ASSERT_NEAR(static_cast<double>(find_period(body).time.count) / 8, static_cast<double>(before),
                1)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace troika
