// Prediction and measurement of a run's steps side by side: `troika simulate --against RUN`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"
#include "collective/recipe.h"
#include "machine/machine.h"

namespace troika::cli {

/// Time that a device spends on one kind of work, on average over those that the trace shows.
struct ComparedWork {
  std::string kind;        ///< "conv2d forward", "all_reduce", "between tasks".
  std::int64_t tasks = 0;  ///< On one device.
  SimTime predicted{}, measured{};
  std::string cause{};  ///< Why measured and predicted time differ, in words.

  SimTime difference() const { return measured - predicted; }
};

struct ComparedDevice {
  DeviceId device;
  SimTime predicted_busy{}, measured_busy{};
  SimTime predicted_waiting{}, measured_waiting{};  ///< For messages.
  SimTime predicted_other{}, measured_other{};
};

/// Messages whose slowest link is of one kind, on average over devices.
struct ComparedLinks {
  LinkKind kind = LinkKind::process;
  Bytes sent{};                     ///< In messages over links of this kind.
  SimTime predicted{}, measured{};  ///< Waits for messages.
};

struct RunComparison {
  std::string run;
  SimTime predicted{}, measured{};  ///< A step.
  std::vector<ComparedWork> work;   ///< The largest difference first.
  std::vector<ComparedDevice> devices;
  std::vector<ComparedLinks> links{};  ///< The kinds that messages use.
  std::int64_t unknown_tasks = 0;  ///< Tasks of the trace that the simulated plan does not have.
  std::vector<std::string> notes{};
  std::string trace;  ///< Both timelines, in Chrome's format.
};

/// Simulates the plan of a run folder with the costs that the run used, or those of `costs`. Throws
/// Error(file) if the folder lacks something or a file is damaged.
RunComparison compare_with_run(const std::filesystem::path& run, const std::string& costs);

std::string to_text(const RunComparison& comparison);
/// One line.
std::string to_json_text(const RunComparison& comparison);

}  // namespace troika::cli
