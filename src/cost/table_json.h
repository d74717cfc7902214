// costs.json: the kernel table as a file, with where its figures come from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cost/kernel_table.h"

namespace troika {

struct CostFile {
  std::string device;  ///< The kind that the times hold for.
  KernelTable table;
};

std::string to_json(const KernelTable& table, const std::string& device);

/// Throws Error(file) that says what is wrong with the text.
CostFile parse_costs(const std::string& text);

/// Nothing when the file is not there or not whole.
std::optional<CostFile> read_costs(const std::filesystem::path& path);

}  // namespace troika
