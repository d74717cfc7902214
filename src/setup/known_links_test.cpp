#include "setup/known_links.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

class KnownLinks : public testing::Test {
 protected:
  KnownLinks() : file_(fs::temp_directory_path() / name()) {}
  ~KnownLinks() override { fs::remove(file_); }

  static std::string name() { return "troika-links-" + std::to_string(getpid()) + ".json"; }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  fs::path file_;
};

TEST_F(KnownLinks, AreThoseOfTheFileOnTheMachineThatTheyWereMeasuredOn) {
  LinkCosts costs = assumed_link_costs();
  costs.process.alpha = 77;
  costs.provenance.machine = machine_of_links();
  write(to_json(costs));
  EXPECT_EQ(known_link_costs(file_), costs);
}

TEST_F(KnownLinks, AreAssumedWithoutAFileOrWithThatOfAnotherMachine) {
  EXPECT_EQ(known_link_costs(file_), assumed_link_costs());
  EXPECT_EQ(known_link_costs({}), assumed_link_costs());
  LinkCosts costs = assumed_link_costs();
  costs.process.alpha = 77;
  costs.provenance.machine = "another";
  write(to_json(costs));
  EXPECT_EQ(known_link_costs(file_), assumed_link_costs());
}

TEST_F(KnownLinks, ADamagedFileIsAnErrorThatNamesIt) {
  write("{");
  EXPECT_THROW(known_link_costs(file_), Error);
}

}  // namespace
}  // namespace troika
