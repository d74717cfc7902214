#include "cli/machine_facts.h"

#include <gtest/gtest.h>

namespace troika::cli {
namespace {

TEST(ValueOf, TakesTheFirstLineOfTheKey) {
  EXPECT_EQ(
      value_of("processor\t: 0\nmodel name\t: Fast One\nmodel name\t: Slow One\n", "model name"),
      "Fast One");
  EXPECT_EQ(value_of("a: 1\n", "b"), "");
  EXPECT_EQ(value_of("flags\n", "flags"), "");
}

TEST(Components, NameAPackageForEach) {
  for (const Component& component : components())
    EXPECT_FALSE(component.package.empty()) << component.name;
}

}  // namespace
}  // namespace troika::cli
