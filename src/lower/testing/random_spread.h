// For tests: tensors spread over devices at random, and what redistribution should make of them.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "lower/redistribute.h"

namespace troika {

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

inline DeviceId device(std::int64_t number) { return DeviceId(static_cast<std::size_t>(number)); }

/// The tensor cut into a grid, each box on some device, some of them on several.
inline std::vector<Placed> random_tiles(const Shape& shape, std::int64_t devices, Draws& draws) {
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
inline double value_of(std::size_t term, std::int64_t element) {
  return static_cast<double>((term + 1) * 1000003 + static_cast<std::size_t>(element) * 7);
}

/// The oracle: gather everything, add the terms, cut the need out.
inline std::vector<double> expected(const Shape& shape, std::size_t terms, const Placed& need) {
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
inline std::int64_t elements_lacking(const Shape& shape, const Spread& have, const Placed& need) {
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

}  // namespace troika
