#include "cli/waiting_threads.h"

#include <unistd.h>

#include <cstdlib>

namespace troika::cli {
namespace {

/// A thread of libgomp that waits at a barrier spins 300,000 times before it sleeps: about 10 ms,
/// which is several time slices of the scheduler. Alone on its cores that never matters. Beside
/// other processes the thread that it waits for may not be running, and the one that spins uses up
/// the core, and its own share of it, that the other one needs; the demo fell to a thirtieth of its
/// speed. A sleeping thread leaves the core and is woken with priority. Waking takes about 50 µs,
/// so not spinning at all (OMP_WAIT_POLICY=passive) is slow where kernels are short. This many
/// turns last about as long as the gap between two kernels or steps of a small model.
constexpr const char* kSpinCount = "10000";

}  // namespace

void limit_spinning(char** arguments) {
  for (const char* stated : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (std::getenv(stated) != nullptr) return;
  // libgomp reads the variable in its constructor, which runs before main, and has no call to
  // change it later. The variable also keeps the second start from making a third.
  if (setenv("GOMP_SPINCOUNT", kSpinCount, 1) == 0) execv("/proc/self/exe", arguments);
}

}  // namespace troika::cli
