// Ranks have different communications in different orders, and still number messages alike.
#include "runtime/prepared_messages.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

Communication sum_of(std::int32_t number, const std::vector<DeviceId>& devices) {
  auto members = static_cast<int>(devices.size());
  return {.id = {.kind = 0, .of = number},
          .name = "sum " + std::to_string(number),
          .call = equal_parts(Collective::all_reduce, members, 64),
          .devices = devices,
          .algorithm = "ring"};
}

/// The communications of one device, listed in this order.
PreparedMessages prepare(DeviceId device, const std::vector<Communication>& listed) {
  TaskGraph graph;
  graph.communications = listed;
  return {graph, {device}, {}};
}

TEST(PreparedMessages, OfTwoRanksHaveTheSameTagsInWhateverOrderTheyMeetThem) {
  const DeviceId a(0u), b(1u), c(2u);
  Communication first = sum_of(1, {a, b}), all = sum_of(2, {a, b, c}), other = sum_of(3, {a, c}),
                last = sum_of(4, {b, a});
  PreparedMessages of_a = prepare(a, {last, other, all, first});
  PreparedMessages of_b = prepare(b, {first, all, last});
  auto tags = [](const PreparedMessages& messages, std::size_t at, int member) {
    return messages.part(CommunicationId(at), member).tags;
  };
  struct Common {
    std::size_t in_a, in_b;
    int member_a, member_b;
  };
  for (auto [in_a, in_b, member_a, member_b] : {Common{3, 0, 0, 1}, {2, 1, 0, 1}, {0, 2, 1, 0}}) {
    ChannelTags own = tags(of_a, in_a, member_a), theirs = tags(of_b, in_b, member_b);
    int shared = 0;
    for (const auto& [channel, tag] : own) {
      if (channel.from == c || channel.to == c) continue;
      auto found = theirs.find(channel);
      ASSERT_NE(found, theirs.end());
      EXPECT_EQ(found->second, tag) << in_a;
      ++shared;
    }
    EXPECT_GT(shared, 0);
  }
}

}  // namespace
}  // namespace troika
