// Plan files that people damage or mistake for plans: each is refused with its line and a sentence.
#include <gtest/gtest.h>

#include "base/error.h"
#include "strategy/strategy.h"

namespace troika {
namespace {

struct BadPlan {
  std::string text;
  std::string message;
};

std::string plan_with(const std::string& lines) {
  return "{\n  \"format\": \"troika plan 2\",\n" + lines + "\n}\n";
}

std::string split_with(const std::string& split) {
  return plan_with("  \"splits\": {\n    \"fc\": " + split + "\n  }");
}

std::string message_of(const std::string& text) {
  try {
    parse_strategy(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
    return error.what();
  }
  return "accepted";
}

void expect_refused(const std::vector<BadPlan>& rows) {
  for (const BadPlan& row : rows) EXPECT_EQ(message_of(row.text), row.message) << row.text;
}

TEST(BadPlan, IsNotAPlanAtAll) {
  const std::string formats = "; this version reads \"troika plan 1\" and \"troika plan 2\"";
  expect_refused({
      {"", "the plan cannot be read: it is empty"},
      {" \n\n", "the plan cannot be read: it is empty"},
      {"[]",
       "the plan cannot be read: it is not a JSON object; it should begin with '{' at line 1, "
       "column 1"},
      {"\n[[nodes]]\n",
       "the plan cannot be read: it is not a JSON object; it should begin with '{' at line 2, "
       "column 1"},
      {"{}",
       "line 1: the plan has no 'format'; check that this file is a plan, such as plan.json of a "
       "run"},
      {"{\n \"format\": \"troika costs 3\"}",
       "line 2: the plan has the format \"troika costs 3\"" + formats},
      {"{\"format\": [1]}", "line 1: the plan has the format [1]" + formats},
  });
}

TEST(BadPlan, IsDamaged) {
  expect_refused({
      {"{\n  \"format\": \"troi",
       "the plan cannot be read: it ends too early and may be truncated at line 2, column 17"},
      {"{\n  \"format\": \"troika plan 2\",\n",
       "the plan cannot be read: it ends too early and may be truncated at line 2, column 29"},
      {plan_with("  \"sync\": {,}"),
       "the plan cannot be read: it is not JSON at line 3, column 12"},
      {plan_with("") + "{}", "the plan cannot be read: it is not JSON at line 4, column 1"},
      {plan_with("  \"model\": \"\xff\""),
       "the plan cannot be read: it is not JSON at line 3, column 13"},
      {plan_with(std::string("  \"model\": \"\0\"", 13)),
       "the plan cannot be read: it has a NUL at line 3, column 13"},
      {plan_with("  \"splits\": {\n    \"fc\": {},\n    \"fc\": {}\n  }"),
       "the plan cannot be read: it names 'fc' twice at line 5, column 8"},
      {plan_with("  \"micro_batches\": 1e999"),
       "the plan cannot be read: it has a number that is too large at line 3, column 25"},
      {plan_with("  \"splits\": " + std::string(1'000'000, '[')),
       "the plan cannot be read: it nests deeper than 16 levels at line 3, column 28"},
  });
}

TEST(BadPlan, HasUnknownKeys) {
  expect_refused({
      {plan_with("  \"model\": \"m\",\n  \"micro_batch\": 1"),
       "line 4: the plan has unknown keys in the plan: 'micro_batch' (did you mean "
       "'micro_batches'?); known are format, model, model_hash, model_options, global_batch, "
       "optimizer, machine, micro_batches, sync, splits"},
      // Neither a line feed nor an escape sequence reaches the terminal.
      {plan_with("  \"machine\": {\"devices\": 1, \"a\\nb\\u001b[31m\": 1}"),
       "line 3: the plan has unknown keys in 'machine': 'a\\u000ab\\u001b[31m'; known are devices, "
       "nodes, kinds"},
  });
  EXPECT_LT(message_of(plan_with('"' + std::string(100'000, 'k') + "\": 1")).size(), 1000u);
}

TEST(BadPlan, HasAnOrderThatIsNotAListOfNames) {
  expect_refused({
      {plan_with("  \"sync\": {\"message_order\": \"d fc.weight\"}"),
       "line 3: the plan has \"d fc.weight\" for 'message_order'; a list is needed"},
      {plan_with("  \"sync\": {\"message_order\": [\"d fc.weight\",\n 1]}"),
       "line 4: the plan has 1 among 'message_order'; texts are needed"},
  });
}

TEST(BadPlan, HasNumbersOutOfRange) {
  const std::string count = "; an integer from 1 to 2147483647 is needed";
  expect_refused({
      {plan_with("  \"micro_batches\": -1"), "line 3: the plan has -1 for 'micro_batches'" + count},
      {plan_with("  \"micro_batches\": 0"), "line 3: the plan has 0 for 'micro_batches'" + count},
      {plan_with("  \"micro_batches\": 18446744073709551615"),
       "line 3: the plan has 18446744073709551615 for 'micro_batches'" + count},
      {plan_with("  \"machine\": {\n    \"devices\": 1000000000000000000}"),
       "line 4: the plan has 1000000000000000000 for 'devices'" + count},
      {plan_with("  \"machine\": {\"nodes\": 1}"),
       "line 3: the plan has no 'devices' in 'machine'"},
      {plan_with("  \"sync\": {\"bucket\": -4}"),
       "line 3: the plan has -4 for 'bucket'; an integer from 0 to 4611686018427387904 is needed"},
      {plan_with("  \"global_batch\": 0"),
       "line 3: the plan has 0 for 'global_batch'; an integer from 1 to 1000000000000 is needed"},
  });
}

TEST(BadPlan, HasASplitOutOfRange) {
  const std::string degree =
      " for the degree of 'n' in operator 'fc'; an integer from 1 to 1048576";
  expect_refused({
      {split_with(R"({"factors": [{"n": -9223372036854775808}]})"),
       "line 4: the plan has -9223372036854775808" + degree + " is needed"},
      {split_with(R"({"factors": [{"n": 0}]})"), "line 4: the plan has 0" + degree + " is needed"},
      {split_with(R"({"factors": [{"n": 65536}, {"o": 65536}, {"replicas": 65536}]})"),
       "line 4: the plan cuts operator 'fc' into more than 1048576 tiles and replicas; use smaller "
       "degrees"},
      {split_with(R"({"factors": [{"n": 2, "stride": -3}]})"),
       "line 4: the plan has -3 for the stride of 'n' in operator 'fc'; an integer from 0 to "
       "2147483647 is needed"},
      {split_with("{\"factors\": [{\"n\": 2, \"weights\": [1,\n -1]}]}"),
       "line 5: the plan has -1 among the weights of 'n' in operator 'fc'; numbers above 0 are "
       "needed"},
      {split_with("{\"devices\": [0,\n 1,\n 3000000000]}"),
       "line 6: the plan has 3000000000 for a device of operator 'fc'; an integer from 0 to "
       "2147483647 is needed"},
      // The writer could not tell such an axis from the keys beside it.
      {"{\"format\": \"troika plan 1\", \"splits\":\n {\"fc\": {\"degrees\": {\"stride\": 2}, "
       "\"devices\": [0, 1]}}}",
       "line 2: the plan has an axis 'stride' in operator 'fc'; no operator has such an axis, "
       "remove it"},
  });
}

}  // namespace
}  // namespace troika
