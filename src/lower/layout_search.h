// Which kernel each task runs and how each buffer lies, for the least total time: kernels and the
// reorders between them.
#pragma once

#include <vector>

#include "lower/layout_model.h"

namespace troika {

struct LayoutChoices {
  std::vector<KernelChoice> tasks;
  std::vector<Layout> buffers;  ///< As their writers leave them, or as they are stored.
};

/// Starts with the best choice task by task in listed order. Then, until nothing changes: tasks
/// that take any layout, joined by the values between them (a residual stage, a parameter with its
/// optimizer state), try each layout together, with the best answer of the tasks around them; and
/// single tasks change their mind, given what all others chose (iterated conditional modes, Besag
/// 1986, doi:10.1111/j.2517-6161.1986.tb01412.x). Throws Error(usage) for a task without kernels.
LayoutChoices search_layouts(const TaskGraph& graph, const KernelTable& table,
                             const LayoutSearchOptions& options);

}  // namespace troika
