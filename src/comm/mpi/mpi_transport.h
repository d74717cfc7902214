// Messages between devices of different ranks, as persistent requests of MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/mpi/mpi_engine.h"
#include "comm/transport.h"

namespace troika {

/// Maps devices to ranks and message addresses to tags of MPI.
class MpiTags {
 public:
  /// `largest` is MPI_TAG_UB.
  MpiTags(std::vector<int> rank_of_device, std::int64_t largest);

  int rank_of(DeviceId device) const;
  /// Returns different tags for any two messages between the same two ranks. Throws Error(usage) if
  /// MPI does not have so many tags.
  int tag_of(const MessageAddress& address) const;

 private:
  std::vector<int> rank_of_device_;
  std::vector<int> index_in_rank_;
  std::int64_t devices_per_rank_ = 1;  // of the rank with most
  std::int64_t largest_;
};

struct MpiTransportSettings {
  MPI_Comm payloads, headers;  ///< Owned by the transport.
  MpiTags tags;
  int rank = 0;
  int local_devices = 1;        ///< Of this rank.
  int devices_here = 1;         ///< Of all ranks on this machine.
  std::vector<bool> is_here;    ///< By rank: it is on this machine.
  std::function<void()> check;  ///< Throws if a peer is lost; may be empty.
};

/// Borrows the engine and the lock, which may be null.
std::unique_ptr<Transport> make_mpi_transport(MpiTransportSettings settings, MpiEngine& engine,
                                              std::mutex* lock);

}  // namespace troika
