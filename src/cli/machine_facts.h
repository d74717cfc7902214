// Facts about this machine that a bug report needs.
#pragma once

#include <string>
#include <vector>

#include "train/progress.h"

namespace troika::cli {

/// Something Troika can use: where it was found, or how to get it.
struct Component {
  std::string name;
  std::string found;    ///< Version or path; empty when it is missing.
  std::string package;  ///< Debian packages that bring it.
  std::string note{};
};

/// Operating system, processor, cores, instruction set, memory.
std::vector<Fact> machine_facts();
/// The libraries that this program is linked with (oneDNN, OpenMP, MPI, JPEG, PNG), and CUDA.
std::vector<Component> components();

/// The value of the first "key : value" line of a text such as /proc/cpuinfo; empty when there is
/// none.
std::string value_of(const std::string& text, const std::string& key);

}  // namespace troika::cli
