// costs.json: the kernel table as a file, with the kinds of devices that its times hold for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cost/kernel_table.h"

namespace troika {

std::string to_json(const KernelTable& table);

/// Also reads files of one kind of device, which earlier versions wrote. Leaves out rows whose keys
/// are of another version. Throws Error(file) that says what is wrong with the text, and in which
/// line.
KernelTable parse_costs(const std::string& text);

/// Returns nothing if the file does not exist or is damaged.
std::optional<KernelTable> read_costs(const std::filesystem::path& path);

}  // namespace troika
