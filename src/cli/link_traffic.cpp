#include "cli/link_traffic.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/text_table.h"
#include "cost/network.h"
#include "taskgraph/link_use.h"

namespace troika::cli {
namespace {

/// A network card that the machine does not list joins a node without a name to the last hub.
std::string name_of_end(const Machine& machine, std::int32_t end) {
  auto devices = static_cast<std::int32_t>(machine.devices.size());
  if (end < devices) return fmt::format("device {}", end);
  std::size_t hub = as_index(end - devices);
  if (!machine.hubs[hub].empty()) return machine.hubs[hub];
  return hub + 1 == machine.hubs.size() ? "network" : fmt::format("node {}", hub);
}

}  // namespace

std::vector<LinkTraffic> link_traffic(const PredictedProgram& program, const SimulatedMachine& on) {
  Network network(on.machine, on.links);
  std::vector<LinkTraffic> all;
  for (const LinkUse& use : link_use(program.folded)) {
    const Machine& machine = network.machine();
    const Link& link = machine.links[as_index(use.link / 2)];
    bool is_forward = use.link == directed_link(use.link / 2, true);
    all.push_back({name_of_end(machine, is_forward ? link.a : link.b),
                   name_of_end(machine, is_forward ? link.b : link.a), use.bytes, use.busy});
  }
  return all;
}

std::string sent_text(const SentBytes& sent) {
  return fmt::format("{} inside processes, {} between processes of a node, {} between nodes",
                     troika::to_string(sent.process), troika::to_string(sent.node),
                     troika::to_string(sent.network));
}

std::string to_json_text(const SentBytes& sent) {
  return nlohmann::ordered_json{
      {"process", sent.process.count}, {"node", sent.node.count}, {"network", sent.network.count}}
      .dump();
}

std::string to_json_text(const std::vector<LinkTraffic>& links, SimTime step) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const LinkTraffic& link : links)
    all.push_back({{"from", link.from},
                   {"to", link.to},
                   {"bytes", link.bytes.count},
                   {"busy_ms", milliseconds(link.busy)},
                   {"share", share_of(link.busy, step)}});
  return all.dump();
}

}  // namespace troika::cli
