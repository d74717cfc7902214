// For tests: what a task graph of all devices says about each device and communication, so that
// refine_naively finds the classes that lowering should have found.
#pragma once

#include <string>

#include "lower/testing/colour_refinement.h"
#include "taskgraph/task_graph.h"

namespace troika {

/// A device is its kind and, in listed order, its tasks: kernels and their times, the buffers that
/// they use (numbered by first use on the device) and what they wait for there. A communication is
/// its call, rule, algorithm and time; the part of a member is where its start and finish stand in
/// the device's list, the length of its range, and whether it is the root. Names, ids, positions in
/// the model, offsets in memory and the numbers of devices are left out.
RefinementFacts facts_of(const Machine& machine, const TaskGraph& graph);

/// The first lines in which two devices differ without their partners; empty if they are alike.
std::string first_difference(const RefinementFacts& facts, std::size_t a, std::size_t b);

}  // namespace troika
