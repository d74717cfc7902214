// Buckets that the strategy lists, and groups of the parameters that it does not list.
#include <gtest/gtest.h>

#include <set>

#include "lower/testing/found_messages.h"

namespace troika {
namespace {

constexpr const char* kFiveParameters = R"(graph five
input x f32[8,4]
input target i32[8]
input weight f32[8]
parameter a.weight f32[4,4] uniform 0.5
parameter a.bias f32[4] zeros
parameter b.weight f32[4,4] uniform 0.5
parameter b.bias f32[4] zeros
parameter c.weight f32[3,4] uniform 0.5
operator a linear{out=4} (x) [a.weight] -> a
operator a.bias bias{} (a) [a.bias] -> h
operator b linear{out=4} (h) [b.weight] -> b
operator b.bias bias{} (b) [b.bias] -> g
operator c linear{out=3} (g) [c.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

using Names = std::vector<std::vector<std::string>>;

/// Data parallel on two devices.
struct FiveParameters : Lowered {
  explicit FiveParameters(const Names& buckets) {
    graph = parse_graph(kFiveParameters);
    machine.devices.resize(2);
    strategy = data_parallel(graph, machine);
    strategy.sync.buckets = buckets;
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters) optimizer.rules[parameter.name] = Sgd{};
  }
};

/// The gradients in each message of gradients.
std::set<std::set<std::string>> messages(const TaskGraph& tasks) {
  std::set<std::set<std::string>> all;
  for (const Communication& sum :
       communications_of(tasks, Collective::all_reduce, Category::gradient)) {
    std::set<std::string> gradients;
    for (const BufferSpec& buffer : tasks.buffers)
      if (buffer.view_of == sum.buffers[0])
        gradients.insert(buffer.name.substr(0, buffer.name.rfind('/')));
    if (gradients.empty()) gradients.insert(sum.name);
    all.insert(gradients);
  }
  return all;
}

TEST(ListedBuckets, TravelAsOneMessageEach) {
  TaskGraph tasks = FiveParameters({{"a.weight", "c.weight"}, {"b.bias", "b.weight"}}).run();
  EXPECT_EQ(messages(tasks), (std::set<std::set<std::string>>{{"d a.weight", "d c.weight"},
                                                              {"d b.bias.bias", "d b.weight"},
                                                              {"d a.bias all_reduce"}}));
}

TEST(ListedBuckets, DoNotFillTheGroupsOfTheOthers) {
  FiveParameters lowered({{"b.weight"}});
  lowered.strategy.sync.bucket = {2 * 64};
  // Backward finishes c.weight, b.bias, b.weight, a.bias, a.weight.
  EXPECT_EQ(messages(lowered.run()),
            (std::set<std::set<std::string>>{{"d c.weight", "d b.bias.bias"},
                                             {"d b.weight all_reduce"},
                                             {"d a.bias.bias", "d a.weight"}}));
}

TEST(ListedBuckets, MayBeLargerThanTheSizeOfABucket) {
  FiveParameters lowered({{"a.weight", "a.bias", "b.weight", "b.bias", "c.weight"}});
  lowered.strategy.sync.bucket = {1};
  EXPECT_EQ(messages(lowered.run()).size(), 1u);
}

TEST(ListedBuckets, MayBeListedInAnyOrder) {
  TaskGraph tasks = FiveParameters({{"a.weight", "c.weight"}, {"b.bias", "b.weight"}}).run();
  EXPECT_EQ(tasks, FiveParameters({{"b.weight", "b.bias"}, {"c.weight", "a.weight"}}).run());
  EXPECT_NE(tasks, FiveParameters({}).run());
}

}  // namespace
}  // namespace troika
