// A public network, a loss and samples → the graph that is trained.
#pragma once

#include <troika/loss.h>
#include <troika/nn.h>

#include "zoo/model.h"

namespace troika::internal {

/// The graph is verified. Throws Error(usage) naming the layer or the option that does not fit.
zoo::Model build_network(const nn::Module& network, const loss::Loss& loss,
                         const zoo::Samples& samples);

}  // namespace troika::internal
