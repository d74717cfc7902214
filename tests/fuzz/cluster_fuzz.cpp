// Any bytes are a cluster that reads back equal once written and makes a machine, or an
// Error(usage).
#include "base/error.h"
#include "config/load_cluster.h"
#include "config/testing/cluster_text.h"
#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace troika;
  Cluster cluster;
  try {
    cluster = parse_cluster(fuzz::text_of(bytes, size), "cluster.toml");
  } catch (const Error& error) {
    return fuzz::accept_refusal(error, ErrorKind::usage);
  }
  // Only one of the two is used, and only that one is written.
  if (!cluster.links.empty()) cluster.network = {};
  std::string written = config::cluster_text(cluster);
  fuzz::require(parse_cluster(written, "cluster.toml") == cluster,
                "the cluster changed when written");
  fuzz::require(!make_machine(cluster).devices.empty(), "the machine has no devices");
  return 0;
}
