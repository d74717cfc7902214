// What is known about the kernels of this machine from the runs so far.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "profile/kernel_check.h"

namespace troika::cli {

struct KernelFacts {
  std::int64_t checked = 0;  ///< Held against the reference, over all kinds of keys.
  std::vector<LeftOutKernel> left_out;
};

/// Of all kernel files in the folder of the cache.
KernelFacts kernel_facts(const std::filesystem::path& folder);

}  // namespace troika::cli
