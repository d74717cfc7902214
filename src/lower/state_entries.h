// Where a program stores parameters and optimizer states, on all devices.
#pragma once

#include "lower/program_plan.h"

namespace troika {

/// The parameters of the graph in their order, each with the states of its update. The same on
/// every rank. Tensors that are stored alike share one list of places.
std::vector<StateEntry> state_entries(const ProgramPlan& plan);

/// Where a parameter lies that no operator of the program uses: where another program stores it, or
/// on device 0.
StoredPlaces places_of_unused(const LowerRequest& request, const Parameter& parameter);

/// The layout of an optimizer state at stored places of this kind: as the kernels of the update
/// want it.
Layout layout_of_state(const ProgramPlan& plan, std::size_t update, std::int32_t slot,
                       std::int32_t kind);

}  // namespace troika
