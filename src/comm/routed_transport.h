// Sends each message inside the process if both devices belong to this rank, else between
// processes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace troika {

/// It has no doorbell, because a message from another process cannot ring one.
struct RoutedTransportSettings {
  std::unique_ptr<Transport> inside;   ///< Between devices of this rank.
  std::unique_ptr<Transport> between;  ///< Between this rank's devices and others.
  std::vector<int> rank_of_device;
  /// Passes the arguments of `fail` on to the other ranks, without waiting for them.
  std::function<void(const std::string& reason, int exit_code)> on_failure{};
};

std::unique_ptr<Transport> make_routed_transport(RoutedTransportSettings settings);

}  // namespace troika
