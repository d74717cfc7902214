// Why a plan is as it is, and what its step is spent on: predicted, and measured if a run used it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/link_traffic.h"
#include "cli/measured_run.h"
#include "search/explanation.h"
#include "search/operator_times.h"
#include "search/parameter_traffic.h"

namespace troika::cli {

/// Time of an operator on one device.
struct OperatorCost {
  std::string name;
  Split split;
  /// The device that is shown or, if the operator does not run there, the one that it keeps busy
  /// longest.
  DeviceId device;
  OperatorTime predicted;
  std::optional<OperatorTime> measured{};
};

/// Something that a step cannot be shorter than.
struct Resource {
  std::string name;  ///< "kernels of device 0", "link node 0 -> network"
  SimTime busy{};    ///< In a step.
};

struct PlanExplanation {
  SimTime step{};
  DeviceId device;                      ///< The busiest one, whose time is shown.
  std::vector<OperatorCost> operators;  ///< All of the model, in its order.
  OperatorTime rest, whole;             ///< Of the device: `whole` has operators and rest.
  std::optional<OperatorTime> measured_rest{}, measured_whole{};
  std::vector<Resource> resources;  ///< The busiest first: it binds.
  std::vector<PathShare> path;
  SentBytes sent;                  ///< By all devices.
  std::vector<LinkTraffic> links;  ///< The busiest first.
  Explanation splits;
  std::vector<LayerTraffic> layers;  ///< Empty on one device.
  std::int64_t devices = 1;
  std::int64_t batch = 1;
  std::vector<std::string> notes{};  ///< Assumptions, in sentences.
};

/// Throws Error(usage) if a step of the model is several programs.
PlanExplanation explain(const SimulatedPlan& plan);
/// The same with what the run measured.
PlanExplanation explain(const MeasuredRun& run);

}  // namespace troika::cli
