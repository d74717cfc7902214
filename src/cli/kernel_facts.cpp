#include "cli/kernel_facts.h"

#include <algorithm>
#include <system_error>

#include "cost/table_json.h"

namespace troika::cli {

KernelFacts kernel_facts(const std::filesystem::path& folder) {
  KernelFacts facts;
  std::vector<std::filesystem::path> files;
  std::error_code none;  // a missing folder has no files
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("kernels-") && name.ends_with(".json")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    const KernelTable costs = read_costs(file).value_or(KernelTable{});
    for (const auto& [kind, rows] : costs.kinds()) {
      for (const auto& [key, kernels] : rows.checks()) facts.checked += std::ssize(kernels);
      for (LeftOutKernel& kernel : failed_checks(rows.checks()))
        facts.left_out.push_back(std::move(kernel));
    }
  }
  return facts;
}

}  // namespace troika::cli
