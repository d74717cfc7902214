// What the maker calls this processor.
#pragma once

#include <string>

namespace troika {

/// "AMD EPYC 9354"; "unknown processor" where the system does not tell.
std::string processor_name();

}  // namespace troika
