// The processor cores that this process may use, and binding a thread to one of them.
#pragma once

#include <vector>

namespace troika {

/// Returns the cores that the main thread may run on; other threads may already be bound to one.
/// Empty if the system does not report them.
std::vector<int> usable_cores();

/// Returns the number of cores online, including those this process may not use; 0 if unknown.
int cores_of_machine();

/// Binds the calling thread to cores[index % cores.size()]. Does nothing if the list is empty.
void bind_to_core(int index, const std::vector<int>& cores);
/// Restricts the calling thread to these cores, which may lie outside the affinity mask of the
/// process. Does nothing if the list is empty.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace troika
