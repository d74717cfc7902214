#include "cost/link_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(LinkCosts, ReadBackWhatTheyWrote) {
  LinkCosts costs = assumed_link_costs();
  costs.node.beta = 0.123456789;
  costs.provenance.date = "2024-05-06";
  EXPECT_EQ(parse_link_costs(to_json(costs)), costs);
}

TEST(LinkCosts, ReadBackWhatWasMeasured) {
  LinkCosts costs = assumed_link_costs();
  costs.node.message_times = {{{{0}, 210.5}, {{8}, 250.25}, {{1 << 26}, 1e8}}};
  costs.process.combine_times = {{{{8}, 0.1}}};
  costs.process.origin = "two threads";
  costs.memory.copy_times = {{{{64}, 3}}};
  costs.memory.reduce_times = {{{{64}, 4}}};
  costs.memory.reduce_both_times = {{{{64}, 5}}};
  costs.measured = {{.kind = Collective::barrier,
                     .algorithm = "dissemination",
                     .members = 3,
                     .link = LinkKind::network,
                     .times = {{{{0}, 12}}}},
                    {.kind = Collective::reduce,
                     .algorithm = "tree",
                     .members = 2,
                     .link = LinkKind::node,
                     .times = {{{{8}, 1}, {{16}, 2}}}},
                    {.kind = Collective::broadcast,
                     .algorithm = "mpi",
                     .members = 2,
                     .link = LinkKind::node,
                     .times = {{{{8}, 3}}}}};
  EXPECT_EQ(parse_link_costs(to_json(costs)), costs);
}

TEST(LinkCosts, LeaveOutTheTimesOfAnAlgorithmThatIsNotThere) {
  LinkCosts costs = assumed_link_costs();
  costs.measured = {{.algorithm = "of_tomorrow", .times = {{{{8}, 1}}}}};
  EXPECT_EQ(parse_link_costs(to_json(costs)), assumed_link_costs());
}

TEST(LinkCosts, RefusePointsOutOfOrder) {
  for (const SizeCurve& curve :
       {SizeCurve{{{{8}, 1}, {{8}, 2}}}, SizeCurve{{{{16}, 1}, {{8}, 2}}}}) {
    LinkCosts costs = assumed_link_costs();
    costs.process.message_times = curve;
    EXPECT_THAT([&] { parse_link_costs(to_json(costs)); },
                ThrowsMessage<Error>(HasSubstr("has the pair [8,2.0] in 'message_ns_at' behind")));
  }
}

TEST(LinkCosts, PreferMeasuredTimesToTheThreeFigures) {
  LinkCost link{.alpha = 10, .beta = 1, .gamma = 1, .message_times = {{{{0}, 70}, {{100}, 90}}}};
  EXPECT_EQ(message_time(link, {50}).count, 80);
  EXPECT_EQ(combine_time(link, {50}).count, 50);
  link.combine_times = {{{{10}, 7}}};
  EXPECT_EQ(combine_time(link, {20}).count, 14);
  EXPECT_EQ(combine_time(link, {0}).count, 0);
}

TEST(LinkCosts, SayWhereTheyComeFrom) {
  EXPECT_THAT(to_json(assumed_link_costs()), HasSubstr("\"source\": \"assumed\""));
}

TEST(LinkCosts, RefuseWhatIsNoCostFile) {
  std::string sound = to_json(assumed_link_costs());
  auto with = [&](const std::string& old, const std::string& text) {
    std::string changed = sound;
    return changed.replace(changed.find(old), old.size(), text);
  };
  for (const auto& row : std::initializer_list<std::pair<std::string, const char*>>{
           {"", "the file of link costs cannot be read"},
           {"[]", "the file of link costs cannot be read"},
           {with("links 1", "links 9"), "does not have the format \"troika links 1\""},
           {with("alpha_ns", "alfa_ns"), "alpha_ns"},
           {with("\"alpha_ns\": ", "\"alpha_ns\": -"), "has -150.0 for 'alpha_ns'"},
           {with("\"alpha_ns\": ", "\"alpha_ns\": \"x\", \"a\": "),
            "has unknown keys in the link 'process': 'a'"}})
    EXPECT_THAT([&] { parse_link_costs(row.first); }, ThrowsMessage<Error>(HasSubstr(row.second)))
        << row.first;
  EXPECT_THAT([] { read_link_costs("no_such_file.json"); },
              ThrowsMessage<Error>(HasSubstr("no_such_file.json")));
}

TEST(LinkCosts, RoundMessagesToWholeNanoseconds) {
  LinkCost link{.alpha = 10.4, .beta = 0.1};
  EXPECT_EQ(message_time(link, {3}).count, 11);
  EXPECT_EQ(message_time(link, {0}).count, 10);
  EXPECT_EQ(time_for({25}, 0.1).count, 3);
}

}  // namespace
}  // namespace troika
