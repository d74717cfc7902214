// The widest vector instructions that this processor has, found at run time.
#pragma once

#include <string_view>

namespace troika {

/// "avx512", "avx2", "sse", or "generic" on another architecture.
std::string_view instruction_set();

}  // namespace troika
