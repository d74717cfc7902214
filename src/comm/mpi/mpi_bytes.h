// Any number of bytes as a count and a type of MPI, whose counts are ints.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace troika {

class MpiBytes {
 public:
  /// A message of more than `block` bytes is one element of a type made of blocks.
  explicit MpiBytes(std::size_t bytes, int block = 1 << 30);
  MpiBytes(const MpiBytes&) = delete;
  /// Requests that use the type keep it alive.
  ~MpiBytes();

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_ = MPI_BYTE;
};

}  // namespace troika
