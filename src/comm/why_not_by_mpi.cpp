#include <fmt/format.h>

#include <limits>

#include "comm/mpi/mpi_world.h"

namespace troika {

std::optional<std::string> why_not_by_mpi(const LibraryCall& call, int ranks) {
  using enum Collective;
  Collective kind = call.call.kind;
  if (kind != all_reduce && kind != reduce && kind != broadcast && kind != barrier)
    return fmt::format("'mpi' has no {}", to_string(kind));
  if (call.call.members != ranks) return "its members are not all the ranks";
  if (call.call.order != CombineOrder::any) return "MPI promises no order";
  if (call.dtype == DType::f16 || call.dtype == DType::bf16)
    return fmt::format("MPI does not know {}", to_string(call.dtype));
  if (call.call.count > std::numeric_limits<int>::max()) return "MPI counts elements in an int";
  return std::nullopt;
}

}  // namespace troika
