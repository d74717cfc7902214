// Results of the kernel checks of earlier runs on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "profile/kernel_check.h"

namespace troika::cli {

struct KernelFacts {
  std::int64_t checked = 0;  ///< Compared with the reference, over all kinds of keys.
  std::vector<LeftOutKernel> left_out;
};

/// Reads all kernel files in the cache folder.
KernelFacts kernel_facts(const std::filesystem::path& folder);

}  // namespace troika::cli
