// The models of the zoo on several numbers of devices, one test for each, so that the full grids can
// run at the same time.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/testing/test_effort.h"
#include "zoo/zoo.h"

namespace troika {

struct ZooCase {
  std::string model;
  std::uint64_t number = 0;  ///< Of the model in the zoo.
  std::size_t devices = 0;
};

inline std::vector<ZooCase> zoo_grid(std::vector<std::size_t> few, std::vector<std::size_t> all) {
  std::vector<ZooCase> cases;
  std::uint64_t number = 0;
  for (const zoo::Entry& entry : zoo::entries()) {
    for (std::size_t devices : full_grid() ? all : few)
      cases.push_back({entry.name, number, devices});
    ++number;
  }
  return cases;
}

inline std::string zoo_case_name(const testing::TestParamInfo<ZooCase>& info) {
  return fmt::format("{}_on_{}", info.param.model, info.param.devices);
}

}  // namespace troika
