#include "comm/mpi/mpi_engine.h"

#include <chrono>

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeToEnd{100};

/// Whether MPI has let go of it.
bool await_end(MPI_Request& handle) {
  auto limit = Clock::now() + kTimeToEnd;
  int done = 0;
  while (done == 0 && Clock::now() < limit) {
    if (MPI_Test(&handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  }
  return done != 0;
}

}  // namespace

void free_request(MpiRequest& request) noexcept {
  if (request.is_active) {
    if (request.receives) MPI_Cancel(&request.handle);  // a send cannot be called back everywhere
    request.is_active = !await_end(request.handle);
  }
  MPI_Request_free(&request.handle);
}

}  // namespace troika
