#include "comm/mpi/mpi_bytes.h"

#include <algorithm>
#include <vector>

#include "comm/mpi/mpi_status.h"

namespace troika {

MpiBytes::MpiBytes(std::size_t bytes, int block) {
  if (bytes <= static_cast<std::size_t>(block)) {
    count_ = static_cast<int>(bytes);
    return;
  }
  std::vector<int> lengths;
  std::vector<MPI_Aint> starts;
  for (std::size_t at = 0; at < bytes; at += block) {
    starts.push_back(static_cast<MPI_Aint>(at));
    lengths.push_back(static_cast<int>(std::min<std::size_t>(block, bytes - at)));
  }
  count_ = 1;
  check_mpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                     starts.data(), MPI_BYTE, &type_),
            "MPI_Type_create_hindexed");
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
}

MpiBytes::~MpiBytes() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

}  // namespace troika
