#include "comm/mpi/mpi_engine.h"

#include <chrono>

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeToEnd{100}, kOneUnwinding{1000};

/// Whether MPI has let go of it.
bool await_end(MPI_Request& handle, Clock::time_point limit) {
  int done = 0;
  do {
    if (MPI_Test(&handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  } while (done == 0 && Clock::now() < limit);
  return done != 0;
}

}  // namespace

Clock::time_point UnwindingTime::limit() {
  auto now = Clock::now();
  if (now > limit_ + kOneUnwinding) limit_ = now + kTimeToEnd;
  return limit_;
}

void free_request(MpiRequest& request, UnwindingTime& time) noexcept {
  if (request.is_active) {
    if (request.receives) MPI_Cancel(&request.handle);  // a send cannot be called back everywhere
    request.is_active = !await_end(request.handle, time.limit());
  }
  MPI_Request_free(&request.handle);
}

}  // namespace troika
