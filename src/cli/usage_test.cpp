#include "cli/usage.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace troika::cli {
namespace {

std::string explain(CLI::App& app, std::vector<std::string> reversed) {
  try {
    app.parse(reversed);
    return "no error";
  } catch (const CLI::ParseError& error) {
    return explain_usage(error, app);
  }
}

// No verb has an option that needs another one, or converts a value without a check of ours.
TEST(ExplainUsage, NamesTheOptionThatAnotherOneNeeds) {
  CLI::App app{"", "tool"};
  CLI::Option* size = app.add_flag("--size");
  app.add_flag("--unit")->needs(size);
  EXPECT_EQ(explain(app, {"--unit"}), "'--unit' needs '--size'; add '--size'");
}

TEST(ExplainUsage, HasWordsOfItsOwnForAnyOtherError) {
  CLI::App app{"", "tool"};
  int size = 0;
  app.add_option("--size", size);
  EXPECT_EQ(explain(app, {"many", "--size"}),
            "the arguments of 'tool' cannot be read; see tool --help");
}

}  // namespace
}  // namespace troika::cli
