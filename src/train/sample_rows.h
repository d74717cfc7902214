// Which samples of a batch the devices of this process read.
#pragma once

#include <string>

#include "runtime/session.h"

namespace troika {

/// From the first row to the last one that a device here reads of any input of the program that has
/// `batch` rows; none where no device here reads any.
Range sample_rows(const Session& session, const std::string& program, std::int64_t batch);

/// The smallest range that has both.
Range hull(Range a, Range b);

}  // namespace troika
