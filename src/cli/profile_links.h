// What `profile --links` does: measures collectives, writes links.json; or checks what an earlier
// links.json predicts.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace troika::cli {

struct LinksRequest {
  std::string out;                   ///< Empty: the user's cache folder.
  std::vector<int> devices{2, 4};    ///< Threads; over MPI its ranks.
  std::vector<std::string> bytes{};  ///< Of a check; empty: from the least to the most.
  double seconds = 18;               ///< For all of it, on a machine that is not busy.
  std::string timeout{};             ///< Over MPI: as for train.
  bool pins = false;
  bool checks = false;
  bool json = false;
};

/// Under mpirun all ranks call it, and the first one prints and writes.
void profile_links(const LinksRequest& request, Console& console);

}  // namespace troika::cli
