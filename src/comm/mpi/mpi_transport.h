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

/// Where the devices live, and how a message between two of them is tagged.
class MpiTags {
 public:
  /// `largest` is MPI_TAG_UB.
  MpiTags(std::vector<int> rank_of_device, std::int64_t largest);

  int rank_of(DeviceId device) const;
  /// Different for any two messages between the same two ranks. Throws Error(usage) when MPI has
  /// not so many tags.
  int tag_of(const MessageAddress& address) const;

 private:
  std::vector<int> rank_of_device_;
  std::vector<int> index_in_rank_;
  std::int64_t devices_per_rank_ = 1;  // of the rank with most
  std::int64_t largest_;
};

struct MpiTransportSettings {
  MPI_Comm payloads, headers;  ///< Of its own.
  MpiTags tags;
  int rank = 0;
  int local_devices = 1;        ///< Of this rank.
  int devices_here = 1;         ///< Of all ranks on this machine.
  std::function<void()> check;  ///< May be empty.
};

/// Both borrowed references outlive the transport.
std::unique_ptr<Transport> make_mpi_transport(MpiTransportSettings settings, MpiEngine& engine,
                                              std::mutex* lock);

}  // namespace troika
