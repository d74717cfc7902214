// Update tasks for every stored slice of every trained parameter, at the end of the list.
#pragma once

#include "lower/draft.h"

namespace troika {

/// Brings the gradient of each slice to where it is stored, and updates it there; with a sliced
/// update each replica updates some rows and all gather the rest. With the guard on the gradient
/// its norm over all devices comes first.
void insert_updates(Draft& draft);

}  // namespace troika
