#include "lower/redistribute.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace troika {
namespace {

/// Seeded draws, one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{.key = seed} {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(at_++, static_cast<std::uint64_t>(bound)));
  }

 private:
  RandomStream random_;
  std::uint64_t at_ = 0;
};

DeviceId device(std::int64_t number) { return DeviceId(static_cast<std::size_t>(number)); }

/// The tensor cut into a grid, each box on some device, some of them on several.
std::vector<Placed> random_tiles(const Shape& shape, std::int64_t devices, Draws& draws) {
  std::vector<Region> boxes{Region::whole(shape)};
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    std::int64_t parts = 1 + draws.below(std::min<std::int64_t>(shape[dim], 3));
    std::vector<Region> cut;
    for (const Region& box : boxes) {
      for (std::int64_t part = 0; part < parts; ++part) {
        cut.push_back(box);
        cut.back().ranges[dim] = part_of(shape[dim], part, parts);
      }
    }
    boxes = cut;
  }
  std::vector<Placed> pieces;
  for (const Region& box : boxes) {
    std::set<std::int64_t> places;
    for (std::int64_t copies = 1 + draws.below(2); copies > 0; --copies)
      places.insert(draws.below(devices));
    for (std::int64_t place : places) pieces.push_back({box, device(place)});
  }
  return pieces;
}

/// What an element of a term is, whichever piece holds it.
double value_of(std::size_t term, std::int64_t element) {
  return static_cast<double>((term + 1) * 1000003 + static_cast<std::size_t>(element) * 7);
}

/// Every element of the need as the assembly puts it together.
std::vector<double> run(const Shape& shape, const Spread& have, const Placed& need,
                        const Assembly& assembly) {
  std::vector<double> whole(static_cast<std::size_t>(shape.elements()), 0.0);
  for (const Taken& taken : assembly) {
    EXPECT_TRUE(contains(have.terms[taken.term][taken.piece].region, taken.region));
    for_each_run(shape, taken.region, [&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = offset; i < offset + length; ++i)
        whole[static_cast<std::size_t>(i)] += value_of(taken.term, i);
    });
  }
  std::vector<double> wanted;
  for_each_run(shape, need.region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = offset; i < offset + length; ++i)
      wanted.push_back(whole[static_cast<std::size_t>(i)]);
  });
  return wanted;
}

/// The oracle: gather everything, add the terms, cut the need out.
std::vector<double> expected(const Shape& shape, std::size_t terms, const Placed& need) {
  std::vector<double> wanted;
  for_each_run(shape, need.region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = offset; i < offset + length; ++i) {
      double sum = 0;
      for (std::size_t term = 0; term < terms; ++term) sum += value_of(term, i);
      wanted.push_back(sum);
    }
  });
  return wanted;
}

/// Elements of the need that the device lacks, over all terms.
std::int64_t elements_lacking(const Shape& shape, const Spread& have, const Placed& need) {
  std::int64_t lacking = 0;
  for (const std::vector<Placed>& pieces : have.terms) {
    std::vector<bool> there(static_cast<std::size_t>(shape.elements()));
    for (const Placed& piece : pieces) {
      if (piece.device != need.device) continue;
      for_each_run(shape, piece.region, [&](std::int64_t offset, std::int64_t length) {
        std::fill_n(there.begin() + offset, length, true);
      });
    }
    for_each_run(shape, need.region, [&](std::int64_t offset, std::int64_t length) {
      lacking += std::count(there.begin() + offset, there.begin() + offset + length, false);
    });
  }
  return lacking;
}

TEST(Assemble, GivesEveryNeedOfRandomSpreadsAndMovesNoMoreThanItLacks) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Draws draws(seed);
    Shape shape;
    for (std::int64_t rank = 1 + draws.below(4); rank > 0; --rank)
      shape.push_back(1 + draws.below(7));
    std::int64_t devices = 1 + draws.below(8);
    Spread have;
    for (std::int64_t terms = 1 + draws.below(3); terms > 0; --terms)
      have.terms.push_back(random_tiles(shape, devices, draws));
    std::vector<Placed> needs = random_tiles(shape, devices, draws);
    std::vector<Assembly> assemblies = assemble(have, needs);
    std::int64_t lacking = 0;
    for (std::size_t at = 0; at < needs.size(); ++at) {
      ASSERT_EQ(run(shape, have, needs[at], assemblies[at]),
                expected(shape, have.terms.size(), needs[at]))
          << "seed " << seed << " need " << to_string(needs[at].region);
      lacking += elements_lacking(shape, have, needs[at]);
    }
    EXPECT_EQ(elements_moved(have, needs, assemblies), lacking) << "seed " << seed;
  }
}

TEST(Assemble, APieceThatIsThereAlreadyStays) {
  Spread have{{{{{{{0, 4}}}, device(0)}, {{{{4, 8}}}, device(1)}}}};
  std::vector<Placed> needs{{{{{4, 8}}}, device(1)}, {{{{0, 8}}}, device(1)}};
  std::vector<Assembly> assemblies = assemble(have, needs);
  EXPECT_TRUE(is_in_place(have, needs[0], assemblies[0]));
  EXPECT_FALSE(is_in_place(have, needs[1], assemblies[1]));
  EXPECT_EQ(elements_moved(have, needs, assemblies), 4);
}

/// `region` on each of the devices.
std::vector<Placed> on_each(const Region& region, std::int64_t devices) {
  std::vector<Placed> pieces;
  for (std::int64_t at = 0; at < devices; ++at) pieces.push_back({region, device(at)});
  return pieces;
}

/// One part of the region's first dimension on each of the devices.
std::vector<Placed> cut_over(const Region& region, std::int64_t devices) {
  std::vector<Placed> pieces = on_each(region, devices);
  for (std::int64_t at = 0; at < devices; ++at)
    pieces[static_cast<std::size_t>(at)].region.ranges[0] =
        part_of(region[0].extent(), at, devices);
  return pieces;
}

Spread partial_sums(const Region& region, std::int64_t devices) {
  Spread have;
  for (const Placed& piece : on_each(region, devices)) have.terms.push_back({piece});
  return have;
}

TEST(FindExchanges, PartialSumsThatAllNeedAreAnAllReduce) {
  Region whole{{{0, 6}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges(partial_sums(whole, 3), on_each(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::all_reduce);
  EXPECT_EQ(found[0].region, whole);
  EXPECT_EQ(found[0].needs, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(FindExchanges, PartialSumsThatEachNeedsAPartOfAreAReduceScatter) {
  Region whole{{{0, 7}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges(partial_sums(whole, 3), cut_over(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::reduce_scatter);
}

TEST(FindExchanges, PartsThatAllNeedAreAnAllGather) {
  Region whole{{{0, 7}, {0, 5}}};
  std::vector<Exchange> found = find_exchanges({{cut_over(whole, 3)}}, on_each(whole, 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Exchange::Kind::all_gather);
  EXPECT_EQ(found[0].pieces.size(), 3u);
}

TEST(FindExchanges, EachSliceOfAParameterHasAnAllReduceOfItsOwn) {
  // Two slices, each summed over two samples' shares: devices 0, 2 and 1, 3.
  Region low{{{0, 2}}}, high{{{2, 4}}};
  Spread have{{{{low, device(0)}, {high, device(1)}}, {{low, device(2)}, {high, device(3)}}}};
  std::vector<Placed> needs{
      {low, device(0)}, {high, device(1)}, {low, device(2)}, {high, device(3)}};
  std::vector<Exchange> found = find_exchanges(have, needs);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].needs, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found[1].needs, (std::vector<std::size_t>{1, 3}));
}

TEST(FindExchanges, NeedsOfOtherDevicesAreNone) {
  Region whole{{{0, 6}}};
  EXPECT_TRUE(find_exchanges(partial_sums(whole, 3), on_each(whole, 2)).empty());
  EXPECT_TRUE(find_exchanges(partial_sums(whole, 2), on_each(whole, 3)).empty());
  EXPECT_TRUE(find_exchanges({{cut_over(whole, 3)}}, {{whole, device(4)}}).empty());
  EXPECT_TRUE(find_exchanges({{on_each(whole, 2)}}, on_each(whole, 2)).empty());
}

}  // namespace
}  // namespace troika
