// The processor cores that this process may use, and binding a thread to one of them.
#pragma once

#include <vector>

namespace troika {

/// Those of the main thread: others may be bound to one. Empty where the system does not tell.
std::vector<int> usable_cores();

/// All that are switched on, whether this process may use them or not; 0 where the system does not
/// tell.
int cores_of_machine();

/// Binds the calling thread to core `index` of the list, counted round and round.
void bind_to_core(int index, const std::vector<int>& cores);

}  // namespace troika
