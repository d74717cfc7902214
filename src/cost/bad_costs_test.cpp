// Cost files that people damage or mistake for others: each is refused with its line and a
// sentence.
#include <gtest/gtest.h>

#include "base/error.h"
#include "cost/link_costs.h"
#include "cost/table_json.h"

namespace troika {
namespace {

struct BadCosts {
  std::string text;
  std::string message;
};

template <class Parse>
void expect_refused(Parse&& parse, const std::vector<BadCosts>& rows) {
  for (const BadCosts& row : rows) {
    std::string message = "accepted";
    try {
      parse(row.text);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 3);
      message = error.what();
    }
    EXPECT_EQ(message, row.message) << row.text;
  }
}

/// A cost file with one row, on line 3.
std::string row_with(const std::string& row) {
  return "{\"format\": \"troika costs 3\", \"hash\": \"0\", \"devices\": {\"cpu\": {\"kernels\": "
         "{\n"
         "\"linear{out=1} forward f32[4,3]\": [\n" +
         row + "]}}}}";
}

/// With one more member.
std::string kernel_with(const std::string& more) {
  return row_with("{\"algorithm\": \"a\", \"layouts\": [\"plain\"], " + more + "}");
}

TEST(BadCosts, IsNotACostFile) {
  const std::string formats =
      "; this version reads \"troika costs 2\", \"troika costs 3\" and \"troika "
      "costs 4\"";
  expect_refused(
      parse_costs,
      {
          {"", "the cost file cannot be read: it is empty"},
          {"name = \"two racks\"\n",
           "the cost file cannot be read: it is not a JSON object; it should begin with '{' at "
           "line 1, "
           "column 1"},
          {"{}",
           "line 1: the cost file has no 'format'; check that this file is costs.json of a run"},
          {"{\n\"format\": \"troika plan 2\"}",
           "line 2: the cost file has the format \"troika plan 2\"" + formats},
          {"{\"format\": \"troika costs 3\"}", "line 1: the cost file has no 'devices'"},
          {row_with("").substr(0, 80),
           "the cost file cannot be read: it ends too early and may be truncated at line 2, column "
           "5"},
          // The library's text of such a value would take all of the stack.
          {"{\"format\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}",
           "the cost file cannot be read: it nests deeper than 16 levels at line 1, column 27"},
      });
}

TEST(BadCosts, HasBadRows) {
  const std::string size = "; an integer from 0 to 4611686018427387904 is needed";
  const std::string time = "; an integer from 0 to 1000000000000000 is needed";
  const std::string operand = " for an operand in 'in_place'; an integer from 0 to 65535 is needed";
  expect_refused(
      parse_costs,
      {
          {row_with("{}"), "line 3: the cost file has no 'algorithm' in a kernel"},
          {row_with("\"x\""), "line 3: the cost file has \"x\" for a kernel; an object is needed"},
          {kernel_with("\"nanosecond\": 5"),
           "line 3: the cost file has unknown keys in a kernel: 'nanosecond' (did you mean "
           "'nanoseconds'?); known are algorithm, layouts, scratch, flat, in_place, nanoseconds, "
           "measured"},
          {kernel_with("\"scratch\": 0, \"measured\": {\"spread\": 1}"),
           "line 3: the cost file has no 'repeats' in 'measured'"},
          {kernel_with("\"scratch\": 0, \"measured\": {\"spread\": 1, \"repeats\": 9,\n"
                       "\"date\": \"2026-01-31\", \"devices\": 1,\n\"at_once\": 2}"),
           "line 5: the cost file has 2 for 'at_once'; at most 'devices' is needed"},
          {kernel_with("\n\"scratch\": -1"), "line 4: the cost file has -1 for 'scratch'" + size},
          {kernel_with("\"scratch\": 1.5"), "line 3: the cost file has 1.5 for 'scratch'" + size},
          {kernel_with("\"scratch\": 18446744073709551615"),
           "line 3: the cost file has 18446744073709551615 for 'scratch'" + size},
          {kernel_with("\"scratch\": 0, \"nanoseconds\": -5"),
           "line 3: the cost file has -5 for 'nanoseconds'" + time},
          {kernel_with("\"scratch\": 0, \"nanoseconds\": 9223372036854775807"),
           "line 3: the cost file has 9223372036854775807 for 'nanoseconds'" + time},
          {kernel_with("\"scratch\": 0, \"in_place\": [[4294967296, 0]]"),
           "line 3: the cost file has 4294967296" + operand},
          {kernel_with("\"scratch\": 0, \"in_place\": [[1]]"),
           "line 3: the cost file has [1] for a pair of 'in_place'; a list of two operands is "
           "needed"},
          {row_with("{\"algorithm\": \"a\", \"scratch\": 0, \"layouts\": [\n\"sideways\"]}"),
           "line 4: the cost file has \"sideways\" for a layout; the name of a layout, such as "
           "\"plain\", is needed"},
      });
}

TEST(BadCosts, HasBadLinks) {
  const std::string sound = to_json(assumed_link_costs());
  auto with = [&](const std::string& old, const std::string& text) {
    std::string changed = sound;
    return changed.replace(changed.find(old), old.size(), text);
  };
  expect_refused(
      parse_link_costs,
      {
          {"{\"format\":\n\"troika plan 2\"}",
           "line 2: the file of link costs does not have the format \"troika links 1\"; `troika "
           "profile "
           "--links` writes such a file"},
          {with("150.0", "-150.0"),
           "line 11: the file of link costs has -150.0 for 'alpha_ns'; a number from 0 to 1e+15 is "
           "needed"},
          {with("150.0", "1e308"),
           "line 11: the file of link costs has 1e+308 for 'alpha_ns'; a number from 0 to 1e+15 is "
           "needed"},
          {with("\"alpha_ns\"", "\"alfa_ns\""),
           "line 11: the file of link costs has unknown keys in the link 'process': 'alfa_ns' (did "
           "you "
           "mean 'alpha_ns'?); known are alpha_ns, beta_ns_per_byte, gamma_ns_per_byte, "
           "overhead_ns, origin, "
           "message_ns_at, combine_ns_at"},
          {with("\"memory\": {",
                "\"measured\": [{\"collective\": \"barrier\", \"algorithm\": \"x\",\n"
                "\"members\": 4294967298}], \"memory\": {"),
           "line 27: the file of link costs has 4294967298 for 'members'; an integer from 1 to "
           "65536 is "
           "needed"},
      });
}

}  // namespace
}  // namespace troika
