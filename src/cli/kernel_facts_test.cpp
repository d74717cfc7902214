#include "cli/kernel_facts.h"

#include <gtest/gtest.h>

#include "cli/testing/temporary_folder.h"
#include "cost/table_json.h"

namespace troika::cli {
namespace {

TEST(KernelFacts, NameTheKernelsThatWereLeftOut) {
  TemporaryFolder folder;
  KernelTable table;
  table.of("a processor")
      .add_checks({{"linear forward", {{"direct plain", ""}, {"brgemm plain", "off by 0.6"}}}});
  folder.write("kernels-1.json", to_json(table));
  folder.write("kernels-2.json", "{");
  folder.write("links.json", to_json(table));
  KernelFacts facts = kernel_facts(folder.path());
  EXPECT_EQ(facts.checked, 2);
  std::vector<LeftOutKernel> expected{{"linear forward", "brgemm plain", "off by 0.6"}};
  EXPECT_EQ(facts.left_out, expected);
  EXPECT_EQ(kernel_facts(folder.path() / "missing").checked, 0);
}

}  // namespace
}  // namespace troika::cli
