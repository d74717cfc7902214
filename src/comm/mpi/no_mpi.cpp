// Replaces MPI in a build without it: one process, whose devices communicate through memory.
#include "base/error.h"
#include "comm/mpi/mpi_world.h"

namespace troika {

std::unique_ptr<MpiWorld> start_mpi(MpiThreading) {
  throw Error(
      ErrorKind::usage,
      "this build of Troika cannot run in several processes, because no MPI library was found; "
      "install one (Debian and Ubuntu: libopenmpi-dev and openmpi-bin) and configure again, "
      "or use several devices of one process");
}

bool built_with_mpi() { return false; }

std::string mpi_library() { return {}; }

}  // namespace troika
