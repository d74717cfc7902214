// What a plan says of the model it was made for.
#pragma once

#include "strategy/strategy.h"

namespace troika {

PlannedModel planned_model(const Graph& graph);

}  // namespace troika
