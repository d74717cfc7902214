#include "collective/by_mpi.h"

#include <fmt/format.h>

#include <limits>

namespace troika {

std::optional<std::string> why_not_by_mpi(const CollectiveCall& call, Bytes element) {
  using enum Collective;
  bool has_it = call.kind == all_reduce || call.kind == reduce || call.kind == broadcast ||
                call.kind == barrier;
  if (!has_it) return fmt::format("Troika does not use MPI's {}", to_string(call.kind));
  if (call.order != CombineOrder::any) return "MPI promises no order";
  if (element.count == 2) return "MPI has no 16-bit floating-point types";
  if (call.count > std::numeric_limits<int>::max()) return "MPI counts elements in an int";
  return std::nullopt;
}

}  // namespace troika
