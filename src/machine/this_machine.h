// The machine that the program runs on.
#pragma once

#include "machine/limits.h"
#include "machine/machine.h"

namespace troika {

/// One node with this many CPU devices in one process, each with `threads` threads (0: the cores
/// that this process may use, divided) and its share of the memory, within the limits of control
/// groups. Speeds are guesses until they are measured, and `kind`
/// says the threads only: who knows the kernels names it better.
Machine this_machine(std::int64_t devices, std::int64_t threads);

/// The memory of the computer, from the lines of /proc/meminfo; 0 where they do not tell.
Bytes total_memory(const std::string& meminfo);

/// The memory of the computer, or this process's address space where that is limited to less.
Bytes computer_memory();

/// How many threads a quota keeps busy. A thread that gets only a part of a core would hold up the
/// others at every barrier, so parts do not count, but one thread is always allowed.
std::int64_t whole_cores(const CoreLimit& limit);

}  // namespace troika
