#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "comm/mpi/mpi_transport.h"

namespace troika {

MpiTags::MpiTags(std::vector<int> rank_of_device, std::int64_t largest)
    : rank_of_device_(std::move(rank_of_device)), largest_(largest) {
  std::map<int, int> devices;
  for (int rank : rank_of_device_) {
    index_in_rank_.push_back(devices[rank]++);
    devices_per_rank_ = std::max<std::int64_t>(devices_per_rank_, devices[rank]);
  }
}

int MpiTags::rank_of(DeviceId device) const {
  TROIKA_CHECK(device.valid() && device.index() < rank_of_device_.size(),
               "a message names a device that no rank has");
  return rank_of_device_[device.index()];
}

// MPI matches by rank and tag only, so the tag also has to tell the two devices: it is the number
// (tag, index of the sender in its rank, index of the receiver) in base devices_per_rank_.
int MpiTags::tag_of(const MessageAddress& address) const {
  auto tag = (static_cast<std::int64_t>(address.tag) * devices_per_rank_ +
              index_in_rank_[address.from.index()]) *
                 devices_per_rank_ +
             index_in_rank_[address.to.index()];
  if (tag <= largest_) return static_cast<int>(tag);
  throw Error(
      ErrorKind::usage,
      fmt::format("message {} from device {} to device {} needs tag {}, but this MPI library "
                  "only has tags up to {}; use fewer devices per rank or larger messages, "
                  "or another MPI library",
                  address.tag, address.from.value, address.to.value, tag, largest_));
}

}  // namespace troika
