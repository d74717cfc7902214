// The memory and the cores of the computer that the program runs on.
#pragma once

#include <cstdint>
#include <string>

#include "machine/limits.h"

namespace troika {

/// The memory of the computer, from the lines of /proc/meminfo; 0 where they do not tell.
Bytes total_memory(const std::string& meminfo);

/// The memory of the computer, or this process's address space where that is limited to less.
Bytes computer_memory();

/// How many threads a quota keeps busy. A thread that gets only a part of a core would hold up the
/// others at every barrier, so parts do not count, but one thread is always allowed.
std::int64_t whole_cores(const CoreLimit& limit);

}  // namespace troika
