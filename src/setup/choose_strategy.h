// The strategy that [parallel] asks for.
#pragma once

#include "config/run_config.h"
#include "machine/machine.h"
#include "strategy/strategy.h"
#include "zoo/zoo.h"

namespace troika {

/// A ready strategy by name, one of degrees, or a plan file; for all graphs of the model. With
/// parallel.weights = "measured" each device gets samples by its speed in `machine`. Throws
/// Error(usage) where there is none of that name, and Error(file) where the file is no plan.
Strategy choose_strategy(const RunConfig& config, const zoo::Model& model, const Machine& machine);

}  // namespace troika
