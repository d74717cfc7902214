#include "taskgraph/join_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "taskgraph/testing/loop.h"

namespace troika {
namespace {

/// Two all-reduces between two devices, each of a process of its own.
class Joined : public testing::Test {
 protected:
  Joined() {
    for (const char* name : {"early", "late"}) {
      for (std::size_t member : {0u, 1u}) loop_.half(name, TaskKind::start, member, 0);
      for (std::size_t member : {0u, 1u}) loop_.half(name, TaskKind::finish, member, 0);
    }
    for (Communication& message : loop_.graph.communications)
      message.call.kind = Collective::all_reduce;
  }

  Span span(const std::string& task, std::int64_t start, std::int64_t end) {
    return {loop_[task].id, loop_[task].device, {start}, {end}};
  }

  /// On one clock. Device 1 starts both before device 0 does, and waits for it.
  std::vector<Span> first() {
    return {span("early start 0", 40, 42), span("early finish 0", 90, 91),
            span("late start 0", 100, 101), span("late finish 0", 101, 109)};
  }
  std::vector<Span> second() {
    return {span("early start 1", 0, 2), span("early finish 1", 10, 50),
            span("late start 1", 60, 61), span("late finish 1", 61, 109)};
  }

  static Timeline later(std::vector<Span> spans, std::int64_t offset) {
    for (Span& span : spans) {
      span.start += SimTime{offset};
      span.end += SimTime{offset};
    }
    return {spans};
  }

  Loop loop_;
};

TEST_F(Joined, ClocksAgreeWhereBothOnlyWaited) {
  std::vector<Span> expected = first();
  std::ranges::copy(second(), std::back_inserter(expected));
  for (std::int64_t offset : {-40, 0, 7000})
    EXPECT_EQ(join_timelines(loop_.graph, {{first()}, later(second(), offset)}).spans, expected);
}

TEST_F(Joined, NoMessageEndsBeforeItBegins) {
  // Device 0 computed until long after the end of the only one that is left.
  Timeline zero{{span("early start 0", 0, 2), span("early finish 0", 500, 501)}};
  Timeline one = later({span("early start 1", 400, 402), span("early finish 1", 402, 410)}, 9000);
  Timeline joined = join_timelines(loop_.graph, {zero, one});
  EXPECT_LE(joined.spans[2].start, joined.spans[1].end);
  EXPECT_LE(joined.spans[0].start, joined.spans[3].end);
}

TEST_F(Joined, OneProcessIsAsItWas) {
  EXPECT_EQ(join_timelines(loop_.graph, {later(first(), -40)}).spans, later(first(), -40).spans);
}

TEST_F(Joined, BeginsAtZero) {
  Timeline joined = join_timelines(loop_.graph, {later(first(), 300), later(second(), 5)});
  SimTime begin = std::ranges::min(joined.spans, {}, &Span::start).start;
  EXPECT_EQ(begin, SimTime{});
}

}  // namespace
}  // namespace troika
