// costs.json: the kernel table as a file, with the device that its times hold for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cost/kernel_table.h"

namespace troika {

struct CostFile {
  std::string device;  ///< The kind of device that the times hold for.
  KernelTable table;
};

std::string to_json(const KernelTable& table, const std::string& device);

/// Leaves out rows whose keys are of another version. Throws Error(file) that says what is wrong
/// with the text.
CostFile parse_costs(const std::string& text);

/// Returns nothing if the file does not exist or is damaged.
std::optional<CostFile> read_costs(const std::filesystem::path& path);

}  // namespace troika
