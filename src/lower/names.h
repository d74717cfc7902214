// Names of tasks and buffers, made when a plan is bound to devices.
#pragma once

#include <string>

#include "machine/machine.h"
#include "tensor/region.h"

namespace troika {

/// "name", for a part of it "name[0:4]"; where there are several devices always "name[0:4]@1".
struct SliceName {
  const std::string& name;
  const Shape& whole;
  const Region& region;
  std::int32_t device = 0;
  bool has_peers = false;
};
std::string to_string(const SliceName& slice);

/// "name" or, when the batch is cut, "name#part".
std::string part_name(const std::string& name, std::int64_t part, std::int64_t parts);

}  // namespace troika
