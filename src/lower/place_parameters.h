// Which device stores which slices of each parameter.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Every part of a parameter that some tile on a device uses is stored there, once where one part
/// holds another; the slices of other programs over the same state are taken as they are. A
/// parameter that nobody uses lies whole on the first device. Fills in draft.parameters,
/// draft.slices and the names of draft.parameter_gradients.
void place_parameters(Draft& draft);

}  // namespace troika
