// How much a predicted step uses each link, with names for the report.
#pragma once

#include <string>
#include <vector>

#include "cli/simulated_machine.h"
#include "setup/predicted_plan.h"

namespace troika::cli {

/// One direction of a link, from one end to the other: "device 3", "node 0", "top switch".
struct LinkTraffic {
  std::string from, to;
  Bytes bytes{};
  SimTime busy{};
};

/// As link_use. Devices that share memory have no link between them.
std::vector<LinkTraffic> link_traffic(const PredictedProgram& program, const SimulatedMachine& on);

/// "1.2 MiB inside processes, 0 B between processes of a node, 3.4 MiB between nodes"
std::string sent_text(const SentBytes& sent);
/// JSON text.
std::string to_json_text(const SentBytes& sent);
/// JSON text, with the share of the step for which they are busy.
std::string to_json_text(const std::vector<LinkTraffic>& links, SimTime step);

}  // namespace troika::cli
