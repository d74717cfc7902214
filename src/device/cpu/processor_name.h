// The processor's model name.
#pragma once

#include <string>

namespace troika {

/// "AMD EPYC 9354"; "unknown processor" if the system does not tell.
std::string processor_name();

}  // namespace troika
