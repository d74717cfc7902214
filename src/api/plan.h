// Plans as texts, for both sides of the API: see engine.h.
#pragma once

#include <cstdint>
#include <string>

#include "config/run_config.h"
#include "zoo/model.h"

namespace troika::internal {

/// Each device has a thread at least, so a wrong digit must not start thousands.
inline constexpr std::int64_t kMostLocalDevices = 4096;

std::string single_plan();

/// The plan as the library writes it, so that equal plans have equal texts. Throws Error(file) if
/// the text is not a plan.
std::string normal_plan(const std::string& text);
std::string plan_of_file(const std::string& path);

/// A ready plan by name, or by its degrees where the name is empty. Throws Error(usage) if there is
/// none of that name, or if the number of devices is too small or out of range.
std::string ready_plan(const PlanConfig& plan, const zoo::Model& model, std::int64_t devices);

/// Threads of each device when this process has so many devices. Throws Error(usage) unless there
/// are from 1 to kMostLocalDevices.
int threads_of_device(int devices);

}  // namespace troika::internal
