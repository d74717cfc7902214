#include "comm/mpi/mpi_engine.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

/// Requests that are removed within kOneUnwinding of each other wait kTimeToEnd in total.
constexpr std::chrono::milliseconds kTimeToEnd{100}, kOneUnwinding{1000};

/// Returns true once MPI has completed the request.
bool await_end(MPI_Request& handle, Clock::time_point limit) {
  int done = 0;
  do {
    if (MPI_Test(&handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  } while (done == 0 && Clock::now() < limit);
  return done != 0;
}

}  // namespace

void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  // Error codes differ between libraries; their classes are standard.
  int kind = status;
  MPI_Error_string(status, text, &length);
  MPI_Error_class(status, &kind);
  const char* advice = kind == MPI_ERR_TRUNCATE
                           ? "the two ranks disagree about the length of a message"
                           : "a peer or the network between two ranks is probably lost";
  throw Error(ErrorKind::peer,
              fmt::format("{} failed: {}; {}", call, std::string_view(text, length), advice));
}

void MpiEngine::start(MpiRequest& request) {
  auto lock = hold(lock_);
  check_mpi(MPI_Start(&request.handle), "MPI_Start");
  request.is_active = true;
}

bool MpiEngine::test(MpiRequest& request) {
  auto lock = try_hold(lock_);
  // Another thread is in MPI and moves this message, too; the caller polls again.
  if (!lock) return false;
  int done = 0;
  check_mpi(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done != 0) request.is_active = false;
  return done != 0;
}

void MpiEngine::remove(MpiRequest& request) noexcept {
  auto lock = hold(lock_);
  if (request.is_active) {
    if (request.receives) MPI_Cancel(&request.handle);  // not every library can cancel sends
    request.is_active = !await_end(request.handle, unwinding_limit());
  }
  // An active request is freed as well: MPI then releases it when the operation completes, if ever.
  MPI_Request_free(&request.handle);
}

Clock::time_point MpiEngine::unwinding_limit() {
  Lock lock(unwinding_);
  auto now = Clock::now();
  // The first removal of a series sets the limit, the others find it nearly used up.
  if (now > limit_ + kOneUnwinding) limit_ = now + kTimeToEnd;
  return limit_;
}

}  // namespace troika
