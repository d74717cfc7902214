#include "ops/op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

template <std::size_t... At>
std::vector<std::string> all_names(std::index_sequence<At...>) {
  return {std::string(std::variant_alternative_t<At, AnyOp>::kName)...};
}

TEST(OpCases, CoverEveryOperatorOfTheList) {
  std::set<std::string_view> covered;
  for (const OpCase& row : op_cases()) covered.insert(name_of(row.op));
  for (const std::string& name : all_names(std::make_index_sequence<std::variant_size_v<AnyOp>>{}))
    EXPECT_TRUE(covered.contains(name)) << name << " has no row in op_cases";
}

TEST(OpText, ReadsBackWhatItPrints) {
  for (const OpCase& row : op_cases())
    EXPECT_EQ(parse_op(to_text(row.op)), row.op) << to_text(row.op);
}

TEST(OpText, RefusesWhatIsNoOperator) {
  for (const char* text :
       {"linear", "linear{", "line{out=1}", "linear{out}", "linear{out=x}", "linear{size=1}",
        "activation{kind=swish}", "linear{out=99999999999999999999}"})
    EXPECT_THROW(parse_op(text), Error) << text;
}

TEST(Signature, EveryDimensionIsMappedAndEveryUseExists) {
  for (const OpCase& row : op_cases()) {
    Signature s = signature(row.op, row.inputs);
    for (const Slot& slot : s.slots)
      EXPECT_EQ(slot.dims.size(), slot.spec.shape.rank()) << row.name << " " << slot.name;
    for (const auto* list : {&s.phases, &s.staged}) {
      for (const PhaseSpec& phase : *list) {
        for (const Use& use : phase.uses)
          ASSERT_LT(static_cast<std::size_t>(use.slot), s.slots.size()) << row.name;
      }
    }
  }
}

TEST(Signature, WholeTileTouchesEveryTensorWhole) {
  for (const OpCase& row : op_cases()) {
    Signature s = signature(row.op, row.inputs);
    EXPECT_FALSE(s.needs_stages(s.whole_tile())) << row.name;
    for (const Slot& slot : s.slots)
      EXPECT_EQ(region_of(slot, s.whole_tile()), Region::whole(slot.spec.shape))
          << row.name << " " << slot.name;
  }
}

TEST(Signature, AxesOfKindReductionAreThoseNoOutputRunsAlong) {
  for (const OpCase& row : op_cases()) {
    Signature s = signature(row.op, row.inputs);
    if (s.find(Phase::forward) == nullptr) continue;
    std::vector<bool> in_output(s.axes.size());
    for (int output : s.slots_of(Role::output)) {
      for (const DimMap& map : s.slots[static_cast<std::size_t>(output)].dims) {
        if (map.axis != DimMap::kNoAxis) in_output[static_cast<std::size_t>(map.axis)] = true;
      }
    }
    bool sums_only = std::ranges::all_of(s.slots_of(Role::output), [&](int output) {
      return s.slots[static_cast<std::size_t>(output)].spec == TensorSpec{{1}, DType::f64};
    });
    for (std::size_t axis = 0; axis < s.axes.size() && !sums_only; ++axis)
      EXPECT_EQ(s.axes[axis].kind == AxisKind::reduction, !in_output[axis])
          << row.name << " axis " << s.axes[axis].name;
  }
}

TEST(DimMap, WindowsReachOverTheEdgeAndAreClipped) {
  DimMap window{.axis = 0, .stride = 2, .pad = 1, .reach = 3};
  EXPECT_EQ(project(window, Region{{{0, 2}}}, 8), (Range{0, 4}));
  EXPECT_EQ(project(window, Region{{{2, 4}}}, 8), (Range{3, 8}));
}

TEST(DimMap, TransposedWindowsFindEveryContribution) {
  // Output h receives from input i when h = i*stride - pad + k for some k in [0, reach).
  DimMap map{.axis = 0, .stride = 2, .pad = 1, .reach = 4, .inverse = true};
  for (std::int64_t begin = 0; begin < 9; ++begin) {
    Range touched = project(map, Region{{{begin, begin + 1}}}, 100);
    for (std::int64_t i = 0; i < 10; ++i) {
      std::int64_t k = begin - i * 2 + 1;
      EXPECT_EQ(k >= 0 && k < 4, i >= touched.begin && i < touched.end) << begin << " " << i;
    }
  }
}

TEST(Linear, RefusesWrongWiringWithASentence) {
  TensorSpec vector{{3}, DType::f32};
  try {
    signature(Linear{.out = 4}, std::vector{vector});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "linear takes an input of rank 2 or more, not f32[3]");
  }
}

}  // namespace
}  // namespace troika
