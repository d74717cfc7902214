#include "ops/assemble.h"

#include <algorithm>
#include <numeric>

#include "ops/require.h"

namespace troika {
namespace {

Shape shape_of(const Assemble& op) { return Shape(std::span(op.shape)); }

/// Numbers per box in Assemble::boxes, and in a position.
std::size_t numbers_per_box(const Assemble& op) { return (op.layered ? 1 : 2) * op.shape.size(); }
std::size_t numbers_per_begin(const Assemble& op) { return (op.layered ? 2 : 1) * op.shape.size(); }

Region moved_to(const Region& box, std::span<const std::int64_t> begin) {
  Region moved;
  for (std::size_t dim = 0; dim < box.rank(); ++dim)
    moved.ranges.push_back({begin[dim], begin[dim] + box[dim].extent()});
  return moved;
}

/// Inputs [begin, end) of a layer.
struct Layer {
  std::size_t begin, end;
};

/// A layer ends where its boxes have as many elements as y.
std::vector<Layer> layers_of(const Assemble& op, const std::vector<Region>& boxes) {
  std::int64_t whole = shape_of(op).elements(), filled = 0;
  std::vector<Layer> layers;
  for (std::size_t input = 0; input < boxes.size(); ++input) {
    if (layers.empty() || filled >= whole) {
      layers.push_back({input, input});
      filled = 0;
    }
    layers.back().end = input + 1;
    filled += boxes[input].elements();
  }
  return layers;
}

/// Tries boxes at the first free element, the largest first, and takes back what leads nowhere.
class BoxPlacer {
 public:
  BoxPlacer(const Shape& whole, std::span<const Shape> boxes) : places_(boxes.size()) {
    std::vector<std::size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(boxes[b], boxes[a]);
    });
    for (std::size_t at : order) {
      if (kinds_.empty() || kinds_.back().extents != boxes[at]) kinds_.push_back({boxes[at], {}});
      kinds_.back().boxes.push_back(at);
    }
    levels_.push_back({{Region::whole(whole)}});
  }

  std::optional<std::vector<Region>> run() {
    // Some boxes would take for ever, but a grid needs few tries more than it has boxes.
    std::size_t tries = kFewestTries + kTriesPerBox * places_.size() * kinds_.size();
    while (levels_.size() <= places_.size()) {
      if (tries-- == 0 || !try_next()) return std::nullopt;
    }
    return std::move(places_);
  }

 private:
  static constexpr std::size_t kFewestTries = 4096, kTriesPerBox = 16;

  /// Boxes of equal extents, of which the first ones are placed.
  struct Kind {
    Shape extents;
    std::vector<std::size_t> boxes;
    std::size_t placed = 0;
  };
  /// Free space, as disjoint regions, and the kind to be tried next at its first element.
  struct Level {
    std::vector<Region> free;
    std::size_t kind = 0;
  };

  /// Returns false if everything has been tried.
  bool try_next() {
    Level& level = levels_.back();
    if (level.kind == kinds_.size()) {
      levels_.pop_back();
      if (levels_.empty()) return false;
      --kinds_[levels_.back().kind++].placed;
      return true;
    }
    Kind& kind = kinds_[level.kind];
    if (kind.placed == kind.boxes.size() || level.free.empty() || !place(level, kind)) ++level.kind;
    return true;
  }

  bool place(const Level& level, Kind& kind) {
    // The first free element is the first one of its region.
    const Region& first = *std::ranges::min_element(level.free, [](const auto& a, const auto& b) {
      return std::ranges::lexicographical_compare(a.ranges, b.ranges, {}, &Range::begin,
                                                  &Range::begin);
    });
    Region box;
    for (std::size_t dim = 0; dim < first.rank(); ++dim)
      box.ranges.push_back({first[dim].begin, first[dim].begin + kind.extents[dim]});
    std::int64_t room = 0;
    for (const Region& region : level.free)
      if (Region shared = intersect(region, box); !shared.empty()) room += shared.elements();
    if (room != box.elements()) return false;
    Level next;
    for (const Region& region : level.free)
      for (Region& rest : subtract(region, box)) next.free.push_back(std::move(rest));
    places_[kind.boxes[kind.placed++]] = std::move(box);
    levels_.push_back(std::move(next));
    return true;
  }

  std::vector<Kind> kinds_;    // largest first, dimension by dimension
  std::vector<Level> levels_;  // one more than boxes are placed
  std::vector<Region> places_;
};

/// Sorted along the dimension that they are cut finest, so that a box meets few others.
bool are_disjoint(std::vector<Region> boxes, const Shape& whole) {
  std::size_t finest = 0;
  double shortest = 0;
  for (std::size_t dim = 0; dim < whole.rank(); ++dim) {
    double length = 0;
    for (const Region& box : boxes) length += static_cast<double>(box[dim].extent());
    length /= static_cast<double>(whole[dim]);
    if (dim > 0 && length >= shortest) continue;
    finest = dim, shortest = length;
  }
  std::ranges::sort(boxes, {}, [&](const Region& box) { return box[finest].begin; });
  for (std::size_t at = 0; at < boxes.size(); ++at)
    for (std::size_t next = at + 1;
         next < boxes.size() && boxes[next][finest].begin < boxes[at][finest].end; ++next)
      if (!intersect(boxes[at], boxes[next]).empty()) return false;
  return true;
}

}  // namespace

std::vector<Region> boxes_of(const Assemble& op) {
  std::vector<Region> all;
  std::size_t rank = op.shape.size(), each = numbers_per_box(op);
  // An incomplete box at the end is left out here and refused by signature().
  for (std::size_t at = 0; rank > 0 && at + each <= op.boxes.size(); at += each) {
    Region& box = all.emplace_back();
    for (std::size_t dim = 0; dim < rank; ++dim) {
      std::int64_t begin = op.layered ? 0 : op.boxes[at + dim];
      box.ranges.push_back({begin, begin + op.boxes[at + each - rank + dim]});
    }
  }
  return all;
}

void add_box(Assemble& op, const Region& to) {
  if (!op.layered)
    for (const Range& range : to.ranges) op.boxes.push_back(range.begin);
  for (const Range& range : to.ranges) op.boxes.push_back(range.extent());
}

std::optional<std::vector<Region>> place_boxes(const Shape& whole, std::span<const Shape> boxes) {
  return BoxPlacer(whole, boxes).run();
}

// `untouched` is the part of y that no input has written yet. An input copies where it meets that
// part and combines in the rest of its box (`again`).
AssemblePlan plan_of(const Assemble& op) {
  AssemblePlan plan;
  std::vector<Region> boxes = boxes_of(op);
  if (op.layered) {
    for (Layer layer : layers_of(op, boxes))
      for (std::size_t input = layer.begin; input < layer.end; ++input)
        plan.steps.push_back({input, boxes[input], boxes[input], layer.begin > 0});
    return plan;
  }
  std::vector<Region> untouched{Region::whole(shape_of(op))};
  for (std::size_t input = 0; input < boxes.size(); ++input) {
    const Region& box = boxes[input];
    std::vector<Region> left, again{box};
    for (const Region& free : untouched) {
      Region first = intersect(free, box);
      if (first.empty()) {
        left.push_back(free);
        continue;
      }
      // The first writer of an element copies. So y need not be cleared, and a maximum does not
      // start from 0.
      plan.steps.push_back({input, within(first, box), first, false});
      std::vector<Region> still;
      for (const Region& part : again)
        for (const Region& rest : subtract(part, first)) still.push_back(rest);
      again = std::move(still);
      for (const Region& rest : subtract(free, box)) left.push_back(rest);
    }
    untouched = std::move(left);
    for (const Region& part : again) plan.steps.push_back({input, within(part, box), part, true});
  }
  plan.clears = !untouched.empty();
  return plan;
}

Signature signature(const Assemble& op, std::span<const TensorSpec> inputs) {
  std::vector<Region> boxes = boxes_of(op);
  require(!boxes.empty() && op.boxes.size() == numbers_per_box(op) * boxes.size(), "assemble",
          op.layered ? "needs one number per dimension for each of its boxes in layers"
                     : "needs two numbers per dimension for each of its boxes");
  require_inputs("assemble", inputs, boxes.size());
  Signature s;
  PhaseSpec forward{.phase = Phase::forward};
  Region whole = Region::whole(shape_of(op));
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const TensorSpec& input = inputs[at];
    bool fits = input.dtype == inputs[0].dtype && input.shape.rank() == op.shape.size() &&
                contains(Region::whole(input.shape), within(boxes[at], boxes[at])) &&
                contains(whole, boxes[at]);
    require(fits, "assemble", "cannot take its box from an input ", input);
    forward.uses.push_back(read(static_cast<int>(at)));
    s.slots.push_back(
        {Role::input, "x" + std::to_string(at), input, std::vector<DimMap>(input.shape.rank())});
    forward.flops += {boxes[at].elements()};
  }
  forward.uses.push_back(write(static_cast<int>(inputs.size())));
  s.slots.push_back(
      {Role::output, "y", {shape_of(op), inputs[0].dtype}, std::vector<DimMap>(op.shape.size())});
  s.phases = {forward};
  return s;
}

std::vector<std::int64_t> tile_position(const Assemble& op, const Signature&, const Region&) {
  std::vector<Region> boxes = boxes_of(op);
  std::size_t rank = op.shape.size(), each = numbers_per_begin(op);
  std::vector<std::int64_t> position(each * boxes.size());
  if (!op.layered) return position;
  for (Layer layer : layers_of(op, boxes)) {
    std::vector<Shape> extents;
    for (std::size_t at = layer.begin; at < layer.end; ++at) extents.push_back(boxes[at].shape());
    std::optional<std::vector<Region>> places = place_boxes(shape_of(op), extents);
    for (std::size_t at = 0; places && at < places->size(); ++at)
      for (std::size_t dim = 0; dim < rank; ++dim)
        position[each * (layer.begin + at) + rank + dim] = (*places)[at][dim].begin;
  }
  return position;
}

BoxBegin begin_of(const Assemble& op, std::size_t input, std::span<const std::int64_t> position) {
  std::size_t rank = op.shape.size(), each = numbers_per_begin(op);
  std::span<const std::int64_t> own = position.subspan(each * input, each);
  return {own.first(rank), own.subspan(rank)};
}

std::int64_t offset_of(std::span<const std::int64_t> begin, const Shape& shape) {
  auto strides = shape.strides();
  std::int64_t offset = 0;
  for (std::size_t dim = 0; dim < begin.size(); ++dim) offset += begin[dim] * strides[dim];
  return offset;
}

bool contain_boxes(std::span<const TensorSpec> inputs, const Assemble& op,
                   std::span<const std::int64_t> position) {
  std::vector<Region> boxes = boxes_of(op);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    Region taken = moved_to(boxes[input], begin_of(op, input, position).in_input);
    if (!contains(Region::whole(inputs[input].shape), taken)) return false;
  }
  return true;
}

bool make_up_y(const Assemble& op, std::span<const std::int64_t> position) {
  if (!op.layered) return true;
  Shape shape = shape_of(op);
  std::vector<Region> boxes = boxes_of(op);
  for (Layer layer : layers_of(op, boxes)) {
    std::vector<Region> placed;
    std::int64_t filled = 0;
    for (std::size_t input = layer.begin; input < layer.end; ++input) {
      placed.push_back(moved_to(boxes[input], begin_of(op, input, position).in_y));
      if (!contains(Region::whole(shape), placed.back())) return false;
      filled += placed.back().elements();
    }
    if (filled != shape.elements() || !are_disjoint(std::move(placed), shape)) return false;
  }
  return true;
}

}  // namespace troika
