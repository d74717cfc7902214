// Settings of the process, made once at the start of main.
#pragma once

namespace troika::cli {

/// Makes a file size limit an error of the write (EFBIG) instead of a signal that ends the process,
/// and keeps the descriptors of closed standard streams from being reused for other files, which
/// would then receive the output.
void prepare_process();

/// How often a thread spins at a barrier before it sleeps: the value for GOMP_SPINCOUNT.
///
/// A thread of libgomp that waits at a barrier spins 300,000 times before it sleeps, for about 10
/// ms and several time slices of the scheduler. If other processes run, the thread that it waits
/// for may not be running, and the one that spins occupies the core that the other needs: next to
/// two busy loops on two cores the demo fell to a thirtieth of its speed. A sleeping thread leaves
/// the core at once, but waking it takes about 50 µs, which is much for short kernels
/// (OMP_WAIT_POLICY=passive does not spin at all). 3,000 turns are about 0.1 ms, longer than the
/// gaps between the kernels of a step. On two hyper-threads of a core that was even faster than
/// spinning on (lenet 3.26 against 3.74 ms a step, mlp 32.0 against 34.5), since a thread that
/// spins slows down its sibling.
inline constexpr const char* kSpinCount = "3000";

/// Starts the program once more, with GOMP_SPINCOUNT set, unless the environment already says how
/// threads wait. Call it first in main, while the process has one thread. Returns if it is not
/// needed or not possible; then threads wait in the default way of the runtime.
void limit_spinning(char** arguments);

}  // namespace troika::cli
