#include "lower/testing/random_redistribution.h"

namespace troika {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomRedistribution& options)
      : draws_(seed), options_(options) {}

  /// Rows on all devices that are needed as columns, in another order. Nearly so: with something
  /// that makes it no all-to-all.
  RedistributionCase make_transposed(bool nearly) {
    devices_ = static_cast<std::int32_t>(8 + draws_.below(2));
    make_frame();
    RedistributionRequest& request = made_.request;
    int last = std::max(request.frame.dims - 1, 1);
    request.frame.dims = last + 1;
    if (made_.wide.size() < 3) made_.wide.insert(made_.wide.begin() + 1, 1);
    request.frame.wide_before[1] |= request.frame.wide_before[0];
    request.frame.extents[0] = devices_ * static_cast<std::int32_t>(1 + draws_.below(2));
    request.frame.extents[last] = devices_;
    std::vector<Touch> rows = cut(0, 0);
    request.from.push_back({.tiles = rows, .terms = std::vector<std::int32_t>(rows.size())});
    request.readers.push_back(cut(last, draws_.below(devices_)));
    if (nearly) disturb(request.from[0], request.readers[0]);
    return std::move(made_);
  }

  RedistributionCase make() {
    devices_ = std::int32_t{1} << draws_.below(4);
    if (!options_.fixed_order) devices_ = static_cast<std::int32_t>(1 + draws_.below(12));
    make_frame();
    RedistributionRequest& request = made_.request;
    request.greatest = options_.greatest;
    request.fixed_order = options_.fixed_order;
    request.merge_each = draws_.below(3) == 0;
    for (std::int64_t count = 1 + draws_.below(2) * draws_.below(3); count > 0; --count) {
      bool again = !request.from.empty() && draws_.below(2) == 0;
      request.from.push_back(again ? request.from[0] : contribution());
    }
    for (std::int64_t count = 1 + draws_.below(3); count > 0; --count)
      request.readers.push_back(reader());
    return std::move(made_);
  }

 private:
  void make_frame() {
    Frame& frame = made_.request.frame;
    frame.dims = static_cast<int>(1 + draws_.below(3));
    bool wide = false;
    for (int dim = 0; dim < frame.dims; ++dim) {
      // Often as many rows as devices have, or a multiple of it.
      frame.extents[dim] = static_cast<std::int32_t>(1 + draws_.below(7));
      if (draws_.below(3) == 0) frame.extents[dim] = devices_;
      made_.wide.push_back(draws_.below(4) == 0 ? 2 : 1);
      wide = wide || made_.wide.back() > 1;
      frame.wide_before[dim] = wide;
    }
    made_.wide.push_back(1 + draws_.below(2));
    std::int64_t per_process = 1 + draws_.below(3), per_node = per_process * (1 + draws_.below(3));
    for (std::int32_t device = 0; device < devices_; ++device) {
      made_.process.push_back(static_cast<std::int32_t>(device / per_process));
      made_.node.push_back(static_cast<std::int32_t>(device / per_node));
    }
  }

  Box whole() const {
    Box box;
    for (int dim = 0; dim < made_.request.frame.dims; ++dim)
      box.end[dim] = made_.request.frame.extents[dim];
    return box;
  }

  /// Cut into a grid; halos reach over into neighbours.
  std::vector<Box> grid(bool halos) {
    std::vector<Box> boxes{whole()};
    for (int dim = 0; dim < made_.request.frame.dims; ++dim) {
      std::int32_t extent = made_.request.frame.extents[dim];
      std::int64_t parts = 1 + draws_.below(std::min(extent, 4));
      std::int32_t reach = halos ? static_cast<std::int32_t>(draws_.below(2)) : 0;
      std::vector<Box> cut;
      for (const Box& box : boxes) {
        for (std::int64_t part = 0; part < parts; ++part) {
          Range range = part_of(extent, part, parts);
          cut.push_back(box);
          cut.back().begin[dim] = std::max(static_cast<std::int32_t>(range.begin) - reach, 0);
          cut.back().end[dim] = std::min(static_cast<std::int32_t>(range.end) + reach, extent);
        }
      }
      boxes = cut;
    }
    return boxes;
  }

  Touch touch(const Box& box, std::int64_t device) {
    return {static_cast<std::int32_t>(device), made_.box(box)};
  }

  /// Boxes of a grid on devices, some of them on several.
  std::vector<Touch> scattered(bool halos) {
    std::vector<Touch> tiles;
    std::int64_t first = draws_.below(devices_), step = draws_.below(2) == 0 ? 1 : 0;
    std::vector<Box> boxes = grid(halos);
    for (std::size_t at = 0; at < boxes.size(); ++at) {
      std::int64_t device = (first + static_cast<std::int64_t>(at)) % devices_;
      if (step == 0) device = draws_.below(devices_);
      tiles.push_back(touch(boxes[at], device));
      if (draws_.below(3) == 0) tiles.push_back(touch(boxes[at], draws_.below(devices_)));
    }
    return tiles;
  }

  /// One part of a dimension on each device.
  std::vector<Touch> cut(int dim, std::int64_t turn) {
    std::vector<Touch> tiles;
    for (std::int32_t device = 0; device < devices_; ++device) {
      Box box = whole();
      Range range = part_of(box.end[dim], (device + turn) % devices_, devices_);
      box.begin[dim] = static_cast<std::int32_t>(range.begin);
      box.end[dim] = static_cast<std::int32_t>(range.end);
      if (!range.empty()) tiles.push_back(touch(box, device));
    }
    return tiles;
  }

  std::vector<Touch> regular(bool is_cut) {
    if (is_cut)
      return cut(static_cast<int>(draws_.below(made_.request.frame.dims)),
                 draws_.below(2) * draws_.below(devices_));
    std::vector<Touch> tiles(devices_);
    for (std::int32_t device = 0; device < devices_; ++device)
      tiles[device] = touch(whole(), device);
    return tiles;
  }

  /// One more need, a box that is there twice or on another device, a need somewhere else.
  void disturb(Contribution& from, std::vector<Touch>& reader) {
    auto any = [&](std::vector<Touch>& tiles) -> Touch& {
      return tiles[static_cast<std::size_t>(draws_.below(std::ssize(tiles)))];
    };
    auto device = static_cast<std::int32_t>(draws_.below(devices_));
    switch (draws_.below(4)) {
      case 0:
        return reader.push_back(random_box());
      case 1:
        from.tiles.push_back({device, any(from.tiles).box});
        return from.terms.push_back(0);
      case 2:
        any(from.tiles).device = device;
        return;
      default:
        any(reader).device = device;
    }
  }

  Contribution contribution() {
    Contribution made;
    made.shared = draws_.below(4) == 0;
    switch (draws_.below(5)) {
      case 0:  // parts, all of one term
        made.tiles = regular(true);
        made.terms.assign(made.tiles.size(), 0);
        break;
      case 1:  // every device has a term of the whole
        made.tiles = regular(false);
        for (std::int32_t at = 0; at < devices_; ++at) made.terms.push_back(at);
        made.term_count = devices_;
        break;
      case 2:  // halves of devices have terms of parts
        add_groups(made);
        break;
      default:
        made.term_count = static_cast<std::int32_t>(1 + draws_.below(2) * draws_.below(3));
        for (std::int32_t term = 0; term < made.term_count; ++term) {
          for (const Touch& tile : scattered(draws_.below(3) == 0)) {
            if (!options_.greatest && draws_.below(12) == 0) continue;  // zero there
            made.tiles.push_back(tile);
            made.terms.push_back(term);
          }
        }
    }
    return made;
  }

  void add_groups(Contribution& made) {
    std::int32_t groups = devices_ % 2 == 0 ? 2 : 1, each = devices_ / groups;
    for (std::int32_t device = 0; device < devices_; ++device) {
      Box box = whole();
      Range range = part_of(box.end[0], device / each, groups);
      box.begin[0] = static_cast<std::int32_t>(range.begin);
      box.end[0] = static_cast<std::int32_t>(range.end);
      if (range.empty()) continue;
      made.tiles.push_back(touch(box, device));
      made.terms.push_back(device % each);
    }
    made.term_count = each;
  }

  Touch random_box() {
    Box box = whole();
    for (int dim = 0; dim < made_.request.frame.dims; ++dim) {
      auto begin = static_cast<std::int32_t>(draws_.below(box.end[dim]));
      box.end[dim] = static_cast<std::int32_t>(begin + 1 + draws_.below(box.end[dim] - begin));
      box.begin[dim] = begin;
    }
    return touch(box, draws_.below(devices_));
  }

  std::vector<Touch> reader() {
    std::vector<Touch> tiles;
    switch (draws_.below(6)) {
      case 0:
        tiles = made_.request.from[0].tiles;
        break;
      case 1:
        tiles = regular(true);
        break;
      case 2:
        tiles = regular(false);
        break;
      case 3: {
        Contribution groups;
        add_groups(groups);
        tiles = groups.tiles;
        break;
      }
      default:
        tiles = scattered(draws_.below(2) == 0);
    }
    for (std::int64_t more = draws_.below(2) * draws_.below(3); more > 0; --more)
      tiles.push_back(random_box());
    return tiles;
  }

  Draws draws_;
  RandomRedistribution options_;
  std::int32_t devices_ = 1;
  RedistributionCase made_;
};

}  // namespace

RedistributionCase random_redistribution(std::uint64_t seed, const RandomRedistribution& options) {
  Generator generator(seed, options);
  bool is_plain = options.fixed_order || options.greatest || seed % 10 < 8;
  return is_plain ? generator.make() : generator.make_transposed(seed % 10 == 8);
}

RedistributionCase plain_redistribution(const std::vector<std::int32_t>& extents,
                                        std::int32_t devices) {
  RedistributionCase made;
  made.request.frame.dims = static_cast<int>(extents.size());
  std::ranges::copy(extents, made.request.frame.extents.begin());
  made.wide.assign(extents.size() + 1, 1);
  made.process.assign(static_cast<std::size_t>(devices), 0);
  made.node = made.process;
  return made;
}

Box make_box(const std::vector<std::pair<std::int32_t, std::int32_t>>& bounds) {
  Box box;
  for (std::size_t dim = 0; dim < bounds.size(); ++dim) {
    box.begin[dim] = bounds[dim].first;
    box.end[dim] = bounds[dim].second;
  }
  return box;
}

}  // namespace troika
