// Stands in for MPI when no MPI library was found: one process, its devices joined by threads.
#include "base/error.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

std::unique_ptr<MpiWorld> start_mpi(MpiThreading) {
  throw Error(
      ErrorKind::usage,
      "This build of Troika cannot join several processes, because no MPI library was found; "
      "install one (Debian and Ubuntu: libopenmpi-dev and openmpi-bin) and configure again, "
      "or use several devices of one process.");
}

bool built_with_mpi() { return false; }

std::string mpi_library() { return {}; }

}  // namespace troika
