// Each message takes the way that its two devices have in common: inside the process where both
// live in this rank, between processes otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace troika {

/// Nobody rings: a message from another process does not.
struct RoutedTransportSettings {
  std::unique_ptr<Transport> inside;   ///< Between devices of this rank.
  std::unique_ptr<Transport> between;  ///< Between this rank's devices and others.
  std::vector<int> rank_of_device;
  /// Tells the other ranks, at once and without waiting, what `fail` was told.
  std::function<void(const std::string& reason, int exit_code)> on_failure{};
};

std::unique_ptr<Transport> make_routed_transport(RoutedTransportSettings settings);

}  // namespace troika
