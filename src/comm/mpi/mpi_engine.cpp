#include "comm/mpi/mpi_engine.h"

#include "comm/mpi/mpi_status.h"

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

void MpiEngine::start(MpiRequest& request) {
  auto lock = hold(lock_);
  check_mpi(MPI_Start(&request.handle), "MPI_Start");
  request.is_active = true;
}

bool MpiEngine::test(MpiRequest& request) {
  auto lock = try_hold(lock_);
  if (!lock) return false;
  int done = 0;
  check_mpi(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done != 0) request.is_active = false;
  return done != 0;
}

void MpiEngine::remove(MpiRequest& request) noexcept {
  auto lock = hold(lock_);
  if (request.is_active) {
    if (request.receives) MPI_Cancel(&request.handle);  // a send cannot be called back everywhere
    request.is_active = !await_end(request.handle, unwinding_limit());
  }
  MPI_Request_free(&request.handle);
}

Clock::time_point MpiEngine::unwinding_limit() {
  Lock lock(unwinding_);
  auto now = Clock::now();
  if (now > limit_ + kOneUnwinding) limit_ = now + kTimeToEnd;
  return limit_;
}

}  // namespace troika
