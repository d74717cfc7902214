// The one place where a status of MPI becomes an Error.
#pragma once

namespace troika {

/// Throws Error(peer) with MPI's own explanation unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

}  // namespace troika
