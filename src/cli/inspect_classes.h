// The classes of devices of a plan: `troika inspect plan.json --classes`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lower/class_reasons.h"

namespace troika::cli {

struct ProgramClasses {
  std::string program;
  std::vector<ExplainedClass> classes;
};

struct ClassInspection {
  Machine machine;
  std::vector<ProgramClasses> programs;
  std::vector<std::string> notes{};  ///< What was assumed, in sentences.
};

/// `cluster`: the machine's cluster file, or empty for what the plan says of its machine. Throws
/// Error(usage) if `file` is not a plan, or if the plan does not say enough.
ClassInspection inspect_classes(const std::filesystem::path& file,
                                const std::filesystem::path& cluster);

/// One table per program.
std::string to_text(const ClassInspection& found);
std::string to_json_text(const ClassInspection& found);

}  // namespace troika::cli
