// The programs that a plan file stands for, as far as the file and its run folder say.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "lower/lower.h"
#include "setup/predicted_plan.h"
#include "zoo/zoo.h"

namespace troika::cli {

struct PlannedPrograms {
  Strategy strategy;
  RunConfig config;
  zoo::Model model;
};

/// The run is that of `folder` if this is a run folder, else what the plan says of it; with another
/// global batch unless that is 0. Throws Error(usage) if neither says enough. The plan must say
/// which model it is for, and may name only what that has.
PlannedPrograms load_programs(const Strategy& strategy, const std::filesystem::path& folder,
                              std::int64_t global_batch = 0);

/// As many devices as the plan knows or names, all in one node. Throws Error(usage) if there are
/// more than a plan can have.
Machine devices_only(const Strategy& strategy);

/// The machine of a plan, as far as the plan and `ranks` say: the number of processes, which a run
/// folder records. Throws Error(usage) unless its nodes are alike and its devices too. Appends a
/// sentence for what was assumed.
Machine machine_of(const Strategy& strategy, std::optional<std::int64_t> ranks,
                   std::vector<std::string>& notes);

/// Calls `take` for each training program on the machine. It must not keep the request. Throws
/// Error(usage) if one is infeasible.
void for_each_program(const PlannedPrograms& programs, const Machine& machine,
                      const std::function<void(const LowerRequest&)>& take);

/// Inputs of order_messages_of besides the plan.
struct OrderTarget {
  const Machine& machine;
  const LinkCosts& links;
  const KernelAnswer& answer;
  KernelTable& table;  ///< Gets the rows that were asked for.
};
/// The order of messages for the one program of a step (search/message_order.h). Throws
/// Error(usage) if a step has several, or as order_plan does.
OrderedMessages order_messages_of(const PlannedPrograms& programs, const OrderTarget& target);

}  // namespace troika::cli
