// Parameters of which devices store parts that overlap irregularly: norms count each element once,
// box by box.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/testing/lowered.h"

namespace troika {
namespace {

using testing::HasSubstr;

/// Two layers share a square weight. The first one needs its rows: those with even numbers on
/// device 0, the others on device 2. The second one needs its columns: so many of them on device 1,
/// the others on later devices. So each column on device 1 counts where no row on device 0 is: in
/// half of the rows, each a box of its own.
struct RowsAndColumns : Lowered {
  RowsAndColumns(std::int64_t rows, std::int64_t parts, const Op& rule) {
    graph = parse_graph(fmt::format(R"(graph shared
input x f32[8,{0}]
input target i32[8]
input weight f32[8]
parameter w f32[{0},{0}] uniform 0.5
operator a linear{{out={0}}} (x) [w] -> h
operator b linear{{out={0}}} (h) [w] -> logits
operator loss cross_entropy{{}} (logits target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)",
                                    rows));
    machine.devices.resize(8);
    optimizer.rules = {{"w", rule}};
    Split by_row{.factors = {{.axis = "o", .degree = rows}}};
    for (std::int64_t row = 0; row < rows; ++row)
      by_row.devices.emplace_back(row % 2 == 0 ? 0u : 2u);
    Split by_column{.factors = {{.axis = "i", .degree = rows}}};
    for (std::int64_t column = 0; column < rows; ++column)
      by_column.devices.emplace_back(as_index(column < parts ? 1 : 3 + column % 5));
    strategy.splits = {{"a", by_row}, {"b", by_column}};
  }

  LowerResult planned() {
    LowerRequest asked = request();
    asked.outputs.clear();
    KernelTable table;
    LowerResult result = lower(asked, table);
    while (auto* missing = std::get_if<MissingRows>(&result)) {
      table = kernels.answer(missing->rows, table);
      result = lower(asked, table);
    }
    return result;
  }
};

std::string refusal_of(RowsAndColumns model) {
  LowerResult result = model.planned();
  return std::holds_alternative<Infeasible>(result) ? std::get<Infeasible>(result).reason : "";
}

TEST(CountedBoxes, NormsOfAsManyAsIdsCountArePlanned) {
  EXPECT_EQ(refusal_of({24, 2, Lamb{}}), "");
}

TEST(CountedBoxes, NormsOfMoreAreRefused) {
  EXPECT_THAT(refusal_of({26, 2, Lamb{}}), HasSubstr("more pieces than"));
}

TEST(CountedBoxes, NormsInMorePartsThanTurnsCountAreRefused) {
  EXPECT_THAT(refusal_of({24, 14, Lamb{}}), HasSubstr("more pieces than"));
}

TEST(CountedBoxes, SquaresOfMoreThanIdsCountAreRefused) {
  RowsAndColumns model(72, 2, Sgd{});
  model.optimizer.clip_norm = 1;
  EXPECT_THAT(refusal_of(model), HasSubstr("more pieces than"));
}

/// A norm adds up products of elements of the weight and of its gradient, so these must lie alike.
TEST(CountedBoxes, NormsReadEverythingPlain) {
  RowsAndColumns model(4, 1, Lamb{});
  model.kernels.wants["linear"] = {Layout::plain, Layout::transposed, Layout::plain};
  EXPECT_EQ(refusal_of(model), "");
}

}  // namespace
}  // namespace troika
