#include "config/load_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/cluster_keys.h"
#include "config/show_run.h"
#include "machine/route.h"

namespace troika {
namespace {

using testing::ElementsAre;

/// The lines of the error, or none.
std::vector<std::string> complaints(std::string_view text) {
  std::vector<std::string> lines;
  try {
    parse_cluster(text, "c.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    std::istringstream stream(error.what());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
  }
  return lines;
}

TEST(Cluster, ReadsEveryKey) {
  Cluster cluster = parse_cluster(cluster_template(), "c.toml");
  EXPECT_EQ(cluster.name, "two racks");
  EXPECT_EQ(cluster.nodes, (std::vector{NodeSpec{.name = "gpu",
                                                 .count = 8,
                                                 .devices = 4,
                                                 .ranks = 1,
                                                 .kind = "cuda sm90",
                                                 .memory = {std::int64_t{80} << 30},
                                                 .flops_per_second = 40e12,
                                                 .bytes_per_second = 3000e9}}));
  EXPECT_EQ(cluster.node_link, (LinkSpeed{300e9, {2000}}));
  EXPECT_EQ(cluster.network, (NetworkSpec{{12.5e9, {10'000}}, 4, 2}));
  EXPECT_EQ(make_machine(cluster).devices.size(), 32u);
}

TEST(Cluster, TheTemplateExplainsEveryKey) {
  for (const std::string& path : config::cluster_paths()) {
    std::string key = path.substr(path.rfind('.') + 1);
    EXPECT_NE(cluster_template().find(key + " = "), std::string_view::npos) << path;
  }
}

TEST(Cluster, ReadsLinksOneByOne) {
  Cluster cluster = parse_cluster(R"(
nodes = [{ name = "a", count = 2, devices = 2 }, { name = "b" }]
links = [
  { from = "a0", to = "spine", bandwidth = "10Gbps", latency = "3us" },
  { from = "a1", to = "spine", bandwidth = "10Gbps" },
  { from = "b.0", to = "spine", bandwidth = "1GB/s" },
])",
                                  "c.toml");
  Machine machine = make_machine(cluster);
  Route route = route_between(machine, DeviceId(std::size_t{0}), DeviceId(std::size_t{4})).value();
  EXPECT_EQ(route.speed.bytes_per_second, 1e9);
  EXPECT_EQ(route.speed.latency, SimTime{3250});
}

TEST(Cluster, ReportsAllErrorsAtOnceWithTheirPlaces) {
  EXPECT_THAT(
      complaints("nam = 'x'\n[[nodes]]\nname = 'a'\ncuont = 2\nmemory = '4 apples'\n"
                 "[network]\nbandwidth = '10'\nlatency = '5us'\nswitch = 2\n[nodelink]\n"),
      ElementsAre(
          "c.toml:1:1: error: unknown key 'nam' outside all sections; did you mean 'name'?",
          "c.toml:4:1: error: unknown key 'cuont' in [nodes]; did you mean 'count'?",
          "c.toml:5:10: error: 'memory' in [nodes] must be a size such as \"64GiB\", not \"4 "
          "apples\"",
          "c.toml:7:13: error: 'bandwidth' in [network] must be a rate such as \"10Gbps\" or "
          "\"32GB/s\", not \"10\"",
          "c.toml:9:1: error: unknown key 'switch' in [network]",
          "c.toml:10:2: error: unknown section [nodelink]; did you mean [node_link]?"));
}

TEST(Cluster, MissingKeysAndSectionsAreNamed) {
  EXPECT_THAT(complaints("name = 'x'\n"),
              ElementsAre("c.toml:1:1: error: missing section [nodes]"));
  EXPECT_THAT(complaints("[[nodes]]\ncount = 2\n[network]\nlatency = '1us'\n"),
              ElementsAre(testing::HasSubstr("missing key 'name' in [nodes]"),
                          testing::HasSubstr("missing key 'bandwidth' in [network]")));
}

TEST(Cluster, ChecksWhatIsWrongOnlyTogether) {
  EXPECT_THAT(
      complaints("nodes = [{ name = 'a', devices = 3, ranks = 2 }, { name = 'a' }]\n"),
      ElementsAre("c.toml:1:10: error: 2 processes of node 'a' cannot share its 3 devices "
                  "evenly; make 'devices' a multiple of 'ranks'",
                  "c.toml:1:50: error: two kinds of nodes are called 'a'; give each its own "
                  "name"));
  EXPECT_THAT(
      complaints("nodes = [{ name = 'node', count = 2 }]\n"
                 "links = [{ from = 'node0', to = 'noed1', bandwidth = '1GB/s' }]\n"),
      ElementsAre("c.toml:2:10: error: 'noed1' in [[links]] has only one link and is neither a "
                  "node nor a device; did you mean 'node1'?"));
  EXPECT_THAT(complaints("nodes = [{ name = 'n', count = 3 }]\n"
                         "links = [{ from = 'n0', to = 'n1', bandwidth = '1GB/s' }]\n"),
              ElementsAre("c.toml:2:9: error: no links lead from 'n0.0' to 'n2.0'; add links"));
  EXPECT_THAT(
      complaints("nodes = [{ name = 'n', count = 2 }]\n"
                 "links = [{ from = 'n0', to = 'n1', bandwidth = '1GB/s' }]\n"
                 "[network]\nbandwidth = '1GB/s'\n"),
      ElementsAre("c.toml:3:1: error: both [network] and [[links]] are given; remove one of "
                  "them"));
}

TEST(Cluster, OverheadsAreAPartOfTheirLatency) {
  const std::string nodes = "[[nodes]]\nname = \"n\"\ncount = 2\n";
  std::string slow = "[network]\nbandwidth = \"1GB/s\"\nlatency = \"2us\"\noverhead = ";
  EXPECT_THAT(complaints(nodes + slow + "\"2us\"\n"), ElementsAre());
  EXPECT_THAT(complaints(nodes + slow + "\"3us\"\n"),
              ElementsAre("c.toml:4:1: error: an overhead of 3000 ns is longer than the latency of "
                          "2000 ns, of which it is a part; reduce 'overhead'"));
}

TEST(Cluster, IsKnownByItsSections) {
  EXPECT_TRUE(looks_like_cluster(cluster_template()));
  EXPECT_FALSE(looks_like_cluster(run_template()));
  EXPECT_FALSE(looks_like_cluster("[["));
}

TEST(Cluster, HugeCountsAreRefusedBeforeAnythingIsBuilt) {
  EXPECT_THAT(complaints("nodes = [{ name = 'a', count = 65536, devices = 1024 }]\n"),
              ElementsAre(testing::HasSubstr("the nodes have 67108864 devices")));
}

}  // namespace
}  // namespace troika
