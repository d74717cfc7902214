// `profile --links`: measures collectives and writes links.json, or checks the predictions of an
// earlier links.json.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace troika::cli {

struct LinksRequest {
  std::string out;                 ///< Empty: the user's cache folder.
  std::vector<int> devices{2, 4};  ///< Numbers of threads. Under mpirun the number of ranks counts.
  std::vector<std::string> bytes{};  ///< Sizes of a check; empty: from 8 bytes to 64 MiB.
  double seconds = 18;               ///< Total duration on an idle machine.
  std::string timeout{};             ///< Under mpirun, as for train.
  bool pins = false;
  bool checks = false;
  bool json = false;
};

/// Under mpirun all ranks call it, and the first one prints and writes.
void profile_links(const LinksRequest& request, Console& console);

}  // namespace troika::cli
