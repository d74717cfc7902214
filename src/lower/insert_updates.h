// One update task per trained parameter, as early as it is safe.
#pragma once

#include "lower/draft.h"

namespace troika {

/// With the guard on the loss, an update stands right behind the last task that needs the old
/// weight or adds to its gradient; with the guard on the gradient all updates come last, behind the
/// norm of the whole gradient.
void insert_updates(Draft& draft);

}  // namespace troika
