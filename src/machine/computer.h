// The memory and the cores of the computer that the program runs on.
#pragma once

#include <cstdint>
#include <string>

#include "machine/limits.h"

namespace troika {

/// The memory of the computer, from the text of /proc/meminfo; 0 if it is not stated there.
Bytes total_memory(const std::string& meminfo);

/// The memory of the computer, or the limit of this process's address space if that is less.
Bytes computer_memory();

/// Tells running computers apart: containers on one have the same. Empty if the system does not say.
std::string boot_id();

/// The threads that a quota can keep busy. A thread with only a part of a core would delay the
/// others at every barrier, so parts do not count, but one thread is always allowed.
std::int64_t whole_cores(const CoreLimit& limit);

}  // namespace troika
