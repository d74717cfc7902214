#include "sim/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troika {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A request for some time at an instant.
Request request(std::int64_t at, std::int64_t time, std::uint64_t urgency = 0,
                std::uint64_t order = 0) {
  return {.urgency = urgency, .order = order, .arrived = {at}, .time = {time}};
}

TEST(Server, ServesOneRequestAfterTheOtherAndTheMostUrgentFirst) {
  Server server(SimTime{10});
  server.add(request(0, 30, 1), 1);
  server.add(request(0, 20, 2), 2);
  EXPECT_EQ(server.serve({0}), SimTime{20});
  EXPECT_THAT(server.end_service({20}), ElementsAre(2));
  EXPECT_EQ(server.serve({20}), SimTime{50});
  EXPECT_THAT(server.end_service({50}), ElementsAre(1));
  EXPECT_EQ(server.serve({50}), std::nullopt);
  EXPECT_TRUE(server.is_idle());
}

TEST(Server, AnUrgentRequestOvertakesAtTheNextChunkBorder) {
  Server server(SimTime{10});
  server.add(request(0, 100), 1);
  EXPECT_EQ(server.serve({0}), SimTime{100});
  server.add(request(13, 5, 1), 2);
  EXPECT_EQ(server.serve({13}), SimTime{20});
  EXPECT_THAT(server.end_service({20}), IsEmpty());
  EXPECT_EQ(server.serve({20}), SimTime{25});
  EXPECT_THAT(server.end_service({25}), ElementsAre(2));
  EXPECT_EQ(server.serve({25}), SimTime{105}) << "80 are left of the bulky one";
  EXPECT_THAT(server.end_service({105}), ElementsAre(1));
}

TEST(Server, ALessUrgentOrEquallyUrgentLaterRequestWaits) {
  Server server(SimTime{10});
  server.add(request(0, 100, 1), 1);
  server.serve({0});
  server.add(request(5, 5, 0), 2);
  server.add(request(5, 5, 1), 3);
  EXPECT_EQ(server.serve({5}), SimTime{100});
  server.end_service({100});
  EXPECT_EQ(server.serve({100}), SimTime{105});
  EXPECT_THAT(server.end_service({105}), ElementsAre(3));
}

TEST(Server, TheLastChunkIsNotOvertaken) {
  Server server(SimTime{10});
  server.add(request(0, 25), 1);
  server.serve({0});
  server.add(request(21, 5, 1), 2);
  EXPECT_EQ(server.serve({21}), SimTime{25});
  EXPECT_THAT(server.end_service({25}), ElementsAre(1));
}

TEST(Server, EqualRequestsOfOneInstantAreOneOfTheirTotalTime) {
  Server server(SimTime{10});
  server.add(request(0, 7, 1, 5), 1);
  server.add(request(0, 7, 1, 5), 2);
  EXPECT_EQ(server.serve({0}), SimTime{14});
  EXPECT_THAT(server.end_service({14}), ElementsAre(1, 2));
}

TEST(Server, ServesForABudgetUpToTheEndOfAChunk) {
  Server server(SimTime{10});
  server.add(request(0, 15, 1), 1);
  server.add(request(0, 40), 2);
  std::vector<Server::Ended> ended;
  EXPECT_EQ(server.serve_for({20}, {100}, ended), SimTime{125}) << "15, and a chunk of the second";
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].owner, 1);
  EXPECT_EQ(ended[0].time, SimTime{115});
  EXPECT_EQ(server.serve_for({100}, {200}, ended), SimTime{230});
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[1].time, SimTime{230});
}

TEST(Server, StoppedAtABorderKeepsWhatIsLeft) {
  Server server(SimTime{10});
  server.add(request(0, 35), 1);
  server.serve({0});
  EXPECT_EQ(server.border({12}), SimTime{20});
  server.stop({20});
  EXPECT_EQ(server.serve({50}), SimTime{65});
}

}  // namespace
}  // namespace troika
