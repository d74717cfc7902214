// Cluster files that people damage or mistake for others: each is refused with its place and a
// sentence.
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/load_cluster.h"
#include "machine/route.h"

namespace troika {
namespace {

struct BadCluster {
  std::string text;
  std::string message;  ///< Behind "c.toml:".
};

void expect_refused(const std::vector<BadCluster>& rows) {
  for (const BadCluster& row : rows) {
    std::string message = "accepted";
    try {
      parse_cluster(row.text, "c.toml");
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      message = error.what();
    }
    EXPECT_EQ(message, "c.toml:" + row.message) << row.text;
  }
}

std::string node_with(const std::string& line) { return "[[nodes]]\nname = \"a\"\n" + line + "\n"; }

std::string network_with(const std::string& line) {
  return "nodes = [{ name = 'n', count = 3 }]\n[network]\n" + line + "\n";
}

/// One link a line, from line 3 on.
std::string links_with(const std::string& ends) {
  std::string text = "nodes = [{ name = 'n', count = 3 }]\nlinks = [\n";
  for (std::size_t at = 0; at + 1 < ends.size(); at += 3)
    text += std::string("{ from = 'n") + ends[at] + "', to = 'n" + ends[at + 1] +
            "', bandwidth = '1GB/s' },\n";
  return text + "]\n";
}

TEST(BadCluster, IsNotAClusterFile) {
  expect_refused({
      {"", "1:1: error: missing section [nodes]"},
      {"{\n  \"format\": \"troika plan 2\"\n}\n",
       "1:1: error: not valid TOML: it begins like JSON; check that this is the right file"},
      {"[[nodes]]\nname = \"g",
       "2:10: error: not valid TOML: a text, an array or a table is not closed"},
      {"a = " + std::string(1'000'000, '['),
       "1:1: error: longer than 256 KiB; this is not a file for Troika"},
      {"a = " + std::string(100'000, '['),
       "1:38: error: nested deeper than 32 brackets or 16 dots"},
      {node_with("count = 1\ncount = 2"),
       "4:9: error: not valid TOML: a key or a section stands here for the second time"},
  });
}

TEST(BadCluster, HasNumbersOutOfRange) {
  const std::string devices = "3:11: error: 'devices' in [nodes] must be an integer from 1 to 1024";
  const std::string rate =
      "3:13: error: 'bandwidth' in [network] must be a rate such as \"10Gbps\"";
  expect_refused({
      {node_with("devices = -1"), devices + ", not -1"},
      {node_with("devices = 1000000000000000000"), devices + ", not 1000000000000000000"},
      {node_with("devices = 1e18"), devices + ", not 1e+18"},
      {node_with("devices = 99999999999999999999"),
       "3:31: error: not valid TOML: the number is too large"},
      {node_with("count = 1000000000"),
       "3:9: error: 'count' in [nodes] must be an integer from 1 to 65536, not 1000000000"},
      {node_with("count = 65536\ndevices = 1024"),
       "1:1: error: the nodes have 67108864 devices, but a run has at most 65536; reduce 'count' "
       "or "
       "'devices'"},
      {network_with("bandwidth = '-1Gbps'"), rate + " or \"32GB/s\", not \"-1Gbps\""},
      {network_with("bandwidth = '1e-300bps'"), rate + " or \"32GB/s\", not \"1e-300bps\""},
      {network_with("bandwidth = '1Gbps'\noversubscription = 1e308"),
       "4:20: error: 'oversubscription' in [network] must be a number of at least 1 and at most "
       "65536, not 1e+308"},
      {network_with("bandwidth = '1Gbps'\noversubscription = nan"),
       "4:20: error: 'oversubscription' in [network] must be a number of at least 1 and at most "
       "65536, not nan"},
  });
}

TEST(BadCluster, HasNamesThatClash) {
  expect_refused({
      {"nodes = [{ name = 'n', count = 2 }, { name = 'n1' }]\n",
       "1:9: error: two nodes or devices are called 'n1'; rename a kind of nodes"},
      {"nodes = [{ name = 'a', devices = 2 }, { name = 'a.0' }]\n",
       "1:9: error: two nodes or devices are called 'a.0'; rename a kind of nodes"},
      {"nodes = [{ name = 'a' },\n { name = \"b\\u001b[31m\\n\", devices = 3, ranks = 2 }]\n",
       "2:2: error: 2 processes of node 'b?[31m?' cannot share its 3 devices evenly; make "
       "'devices' "
       "a multiple of 'ranks'"},
  });
}

TEST(BadCluster, HasLinksThatLeadNowhere) {
  expect_refused({
      {links_with("01 22 "), "4:1: error: a link joins 'n2' with itself; correct 'from' or 'to'"},
      {links_with("01 12 x0"),
       "5:1: error: 'nx' in [[links]] has only one link and is neither a node nor a device; did "
       "you "
       "mean 'n0'?"},
      {links_with("01 "), "2:9: error: no links lead from 'n0.0' to 'n2.0'; add links"},
      // Three switches in a circle, away from the nodes.
      {links_with("st tu us "), "2:9: error: no links lead from 'n0.0' to 'n1.0'; add links"},
  });
}

TEST(Cluster, MayHaveLinksInACircle) {
  Machine machine = make_machine(parse_cluster(links_with("01 12 20 "), "c.toml"));
  DeviceId first(std::size_t{0}), last(std::size_t{2});
  EXPECT_EQ(route_between(machine, first, last).value().hops.size(), 3u);
}

TEST(BadCluster, WithThousandsOfUnknownNamesIsRefusedSoon) {
  std::string text = "nodes = [{ name = 'n', count = 64, devices = 1023 }]\nlinks = [\n";
  for (int link = 0; link < 4000; ++link)
    text += "{ from = 'x" + std::to_string(link) + "', to = 'n0', bandwidth = '1GB/s' },\n";
  EXPECT_THROW(parse_cluster(text + "]\n", "c.toml"), Error);
}

}  // namespace
}  // namespace troika
