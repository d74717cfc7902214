// How the threads of a team wait for each other, decided before the OpenMP runtime starts.
#pragma once

namespace troika::cli {

/// Starts the program once more, with GOMP_SPINCOUNT set, unless the environment already says how
/// threads wait. To be called first in main, by a process with one thread. Returns where that is
/// not needed, or not possible: then threads wait as the runtime does by itself.
void limit_spinning(char** arguments);

}  // namespace troika::cli
