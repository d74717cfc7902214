// The machine of a run as its folder describes it besides plan.json: env.json and links.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cost/link_costs.h"

namespace troika::cli {

/// A run that is resumed writes these files again, so they are those of the part of the run that
/// began last.
struct RecordedRun {
  std::optional<std::int64_t> ranks{};  ///< Unset: not recorded, as before version 0.1.
  std::optional<LinkCosts> links{};
  std::string plan_hash{};  ///< As in RunState; empty: not recorded.
};

/// Empty if the folder is not a run folder. Throws Error(file) that names the file if one is
/// damaged.
RecordedRun read_recorded_run(const std::filesystem::path& folder);

}  // namespace troika::cli
