// The machine that the program runs on.
#pragma once

#include "machine/machine.h"

namespace troika {

/// One node with this many CPU devices in one process, each with `threads` threads (0: the cores
/// shared out) and its share of the memory. Speeds are guesses until they are measured, and `kind`
/// says the threads only: who knows the kernels names it better.
Machine this_machine(std::int64_t devices, std::int64_t threads);

/// The memory of the computer, from the lines of /proc/meminfo; 0 where they do not tell.
Bytes total_memory(const std::string& meminfo);

}  // namespace troika
