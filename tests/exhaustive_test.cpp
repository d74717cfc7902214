// Chains against every strategy of spaces that are small enough to be searched as a whole.
#include "search/exhaustive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/test_effort.h"
#include "graph/text.h"
#include "machine/cluster.h"
#include "search/find_plans.h"
#include "strategy/ready.h"
#include "strategy/tiles.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

struct Subject {
  std::string name;
  Graph graph;
};

/// Branches of one, two and no layers from one tensor, as in Inception, and a classifier.
constexpr const char* kBranches = R"(graph branches
input x f32[8,16,8,8]
input target i32[8]
input weight f32[8]
parameter a.weight f32[16,16,1,1] uniform 0.5
parameter b1.weight f32[8,16,1,1] uniform 0.5
parameter b2.weight f32[16,8,3,3] uniform 0.5
parameter fc.weight f32[10,3072] uniform 0.5
operator a conv2d{out=16,kernel=[1,1]} (x) [a.weight] -> a
operator b1 conv2d{out=8,kernel=[1,1]} (x) [b1.weight] -> b1
operator b2 conv2d{out=16,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (b1) [b2.weight] -> b2
operator all concat{dim=1} (a b2 x) [] -> all
operator flat reshape{shape=[0,-1]} (all) [] -> flat
operator fc linear{out=10} (flat) [fc.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

Graph zoo_graph(const zoo::ModelRequest& request) {
  return zoo::build(request).graphs.front().graph;
}

std::vector<Subject> subjects() {
  zoo::Samples tokens{.batch = 4,
                      .fields = {{"input", {{8}, DType::i32}}, {"target", {{8}, DType::i32}}},
                      .classes = 200};
  return {
      {"mlp", zoo_graph({"mlp", {{"layers", std::int64_t{3}}, {"hidden", "256"}}, {.batch = 64}})},
      {"lenet", zoo_graph({"lenet", {}, {.batch = 16}})},
      {"rnnlm", zoo_graph({"rnnlm", {{"hidden", std::int64_t{64}}}, tokens})},
      {"gpt2",
       zoo_graph(
           {"gpt2",
            {{"layers", std::int64_t{2}}, {"width", std::int64_t{64}}, {"heads", std::int64_t{4}}},
            tokens})},
      {"branches", parse_graph(kBranches)}};
}

struct Space {
  std::string subject;
  std::int64_t nodes = 1, each = 2;
  /// At most. Operators get a choice as long as the space does not become larger, those with
  /// weights first; all others have the split of data parallelism.
  std::uint64_t strategies = 0;
};

/// Few enough for a second or two.
constexpr std::uint64_t kFew = 2000;
/// Gives spaces of more than a million.
constexpr std::uint64_t kMany = 6'000'000;

/// One of each model in `make test`, all in `make test-all`.
std::vector<Space> spaces() {
  std::vector<Space> made;
  for (const Subject& subject : subjects())
    for (std::int64_t nodes : {2, 1})
      for (std::int64_t devices : {2, 4})
        made.push_back({subject.name, nodes, devices / nodes, kFew});
  if (!full_grid()) {
    std::erase_if(
        made, [](const Space& space) { return space.nodes * space.each > 2 || space.nodes < 2; });
    return made;
  }
  for (const char* subject : {"mlp", "lenet", "branches"})
    for (std::int64_t nodes : {1, 2}) made.push_back({subject, nodes, 2 / nodes, kMany});
  return made;
}

std::string name_of(const testing::TestParamInfo<Space>& one) {
  return fmt::format("{}{}_on_{}_x_{}", one.param.strategies == kFew ? "" : "large_",
                     one.param.subject, one.param.nodes, one.param.each);
}

Machine machine_of(const Space& space) {
  Machine machine =
      make_machine({.nodes = {{.count = space.nodes, .devices = space.each, .ranks = space.each}},
                    .node_link = {.bytes_per_second = 1e10, .latency = {1000}},
                    .network = {.link = {.bytes_per_second = 1e9, .latency = {5000}}}});
  for (DeviceSpec& device : machine.devices) {
    device.kind = "made up";
    device.flops_per_second = 2e10;
    device.bytes_per_second = 1e10;
  }
  return machine;
}

class Spaces : public testing::TestWithParam<Space> {
 protected:
  Spaces() {
    for (const Parameter& parameter : graph_.parameters)
      if (parameter.trained && !parameter.state) optimizer_.rules.emplace(parameter.name, Sgd{});
    data_ = data_parallel(graph_, machine_);
    choose_space();
  }

  void choose_space() {
    space_ = search_menus(index_, request_);
    space_.runs = 1;
    space_.chunks = {};
    for (const Operator& op : graph_.operators)
      space_.fixed.try_emplace(index_.operators.at(op.name), split_of(data_, op.name));
    for (bool has_weights : {true, false})
      for (std::size_t op = 0; op < graph_.operators.size(); ++op)
        if (graph_.operators[op].parameters.empty() != has_weights) free(op);
  }

  void free(std::size_t op) {
    auto kept = space_.fixed.extract(op);
    if (SplitMenus(index_, machine_, space_).size() > GetParam().strategies)
      space_.fixed.insert(std::move(kept));
  }

  static Graph graph_of(const std::string& name) {
    for (Subject& subject : subjects())
      if (subject.name == name) return std::move(subject.graph);
    return {};
  }

  const Graph graph_ = graph_of(GetParam().subject);
  IndexedGraph index_{graph_};
  Machine machine_ = machine_of(GetParam());
  OptimizerSpec optimizer_;
  Strategy data_;
  LowerRequest request_{
      .graph = &graph_, .strategy = &data_, .machine = &machine_, .optimizer = &optimizer_};
  MenuOptions space_;
};

TEST_P(Spaces, HaveNoBetterPlanThanChainsFind) {
  ScoringKernels kernels({}, machine_);
  SplitMenus menus(index_, machine_, space_);
  PlanSearchOptions options{.first = {{"data", data_}},
                            .proposals = full_grid() ? 20'000 : 4'000,
                            .threads = 2,
                            .space = space_};
  FoundPlans found = std::get<FoundPlans>(find_plans(request_, kernels, options));
  auto result = search_exhaustively({.request = request_,
                                     .kernels = kernels,
                                     .menus = menus,
                                     .first = {data_, *found.seed("data")->period}});
  const Certificate& proof = std::get<Certificate>(result);
  fmt::print("{} strategies: {} simulated, {} subtrees cut off; {} a step (data {}), bound {}\n",
             proof.size, proof.simulated, proof.cut_off, to_string(proof.best.period),
             to_string(*found.seed("data")->period), to_string(proof.least));
  EXPECT_EQ(found.plans.front().period, proof.best.period);
  EXPECT_GT(proof.least, SimTime{});
  EXPECT_LE(proof.least, proof.best.period);
}

INSTANTIATE_TEST_SUITE_P(Small, Spaces, testing::ValuesIn(spaces()), name_of);

}  // namespace
}  // namespace troika
