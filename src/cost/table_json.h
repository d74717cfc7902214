// costs.json: the kernel table as a file, with where its figures come from.
#pragma once

#include <string>

#include "cost/kernel_table.h"

namespace troika {

std::string to_json(const KernelTable& table, const std::string& device);

}  // namespace troika
