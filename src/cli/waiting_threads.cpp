#include "cli/waiting_threads.h"

#include <unistd.h>

#include <cstdlib>

namespace troika::cli {
namespace {

/// A thread of libgomp that waits at a barrier spins 300,000 times before it sleeps, for about 10
/// ms and several time slices of the scheduler. Beside other processes the thread that it waits for
/// may not be running, and the one that spins keeps the core that the other needs: beside two busy
/// loops on two cores the demo fell to a thirtieth of its speed. A sleeping thread leaves the core
/// at once, but waking it takes about 50 µs, which short kernels feel (OMP_WAIT_POLICY=passive does
/// not spin at all). 3,000 turns are about 0.1 ms, longer than the gaps between the kernels of a
/// step. On two hyper-threads of a core that was even faster than spinning on (lenet 3.26
/// against 3.74 ms a step, mlp 32.0 against 34.5), since a thread that spins slows down its
/// sibling.
constexpr const char* kSpinCount = "3000";

}  // namespace

void limit_spinning(char** arguments) {
  for (const char* stated : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (std::getenv(stated) != nullptr) return;
  // libgomp reads the variable in its constructor, which runs before main, and has no call to
  // change it later. The variable also keeps the second start from making a third.
  if (setenv("GOMP_SPINCOUNT", kSpinCount, 1) == 0) execv("/proc/self/exe", arguments);
}

}  // namespace troika::cli
