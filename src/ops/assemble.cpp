#include "ops/assemble.h"

#include "ops/require.h"

namespace troika {
namespace {

Shape shape_of(const Assemble& op) { return Shape(std::span(op.shape)); }

/// Maps a region inside box.to to the same elements inside box.from.
Region moved(const Region& part, const BoxPair& box) {
  Region region = part;
  for (std::size_t dim = 0; dim < region.rank(); ++dim) {
    std::int64_t shift = box.from[dim].begin - box.to[dim].begin;
    region.ranges[dim] = {part[dim].begin + shift, part[dim].end + shift};
  }
  return region;
}

}  // namespace

std::vector<BoxPair> boxes_of(const Assemble& op) {
  std::vector<BoxPair> all;
  std::size_t rank = op.shape.size();
  // The flat list holds 3 * rank numbers per box. An incomplete box at the end is left out here and
  // refused by signature().
  for (std::size_t at = 0; rank > 0 && at + 3 * rank <= op.boxes.size(); at += 3 * rank) {
    BoxPair& box = all.emplace_back();
    for (std::size_t dim = 0; dim < rank; ++dim) {
      std::int64_t from = op.boxes[at + dim], to = op.boxes[at + rank + dim],
                   extent = op.boxes[at + 2 * rank + dim];
      box.from.ranges.push_back({from, from + extent});
      box.to.ranges.push_back({to, to + extent});
    }
  }
  return all;
}

void add_box(Assemble& op, const BoxPair& box) {
  for (const Range& range : box.from.ranges) op.boxes.push_back(range.begin);
  for (const Range& range : box.to.ranges) op.boxes.push_back(range.begin);
  for (const Range& range : box.to.ranges) op.boxes.push_back(range.extent());
}

// `untouched` is the part of y that no input has written yet. An input copies where it meets that
// part and combines in the rest of its box (`again`).
AssemblePlan plan_of(const Assemble& op) {
  AssemblePlan plan;
  std::vector<Region> untouched{Region::whole(shape_of(op))};
  std::vector<BoxPair> boxes = boxes_of(op);
  for (std::size_t input = 0; input < boxes.size(); ++input) {
    const BoxPair& box = boxes[input];
    std::vector<Region> left, again{box.to};
    for (const Region& free : untouched) {
      Region first = intersect(free, box.to);
      if (first.empty()) {
        left.push_back(free);
        continue;
      }
      // The first writer of an element copies. So y need not be cleared, and a maximum does not
      // start from 0.
      plan.steps.push_back({input, {moved(first, box), first}, false});
      std::vector<Region> still;
      for (const Region& part : again)
        for (const Region& rest : subtract(part, first)) still.push_back(rest);
      again = std::move(still);
      for (const Region& rest : subtract(free, box.to)) left.push_back(rest);
    }
    untouched = std::move(left);
    for (const Region& part : again) plan.steps.push_back({input, {moved(part, box), part}, true});
  }
  plan.clears = !untouched.empty();
  return plan;
}

Signature signature(const Assemble& op, std::span<const TensorSpec> inputs) {
  std::vector<BoxPair> boxes = boxes_of(op);
  require(!boxes.empty() && op.boxes.size() == 3 * op.shape.size() * boxes.size(), "assemble",
          "needs three numbers per dimension for each of its boxes");
  require_inputs("assemble", inputs, boxes.size());
  Signature s;
  PhaseSpec forward{.phase = Phase::forward};
  Region whole = Region::whole(shape_of(op));
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const TensorSpec& input = inputs[at];
    bool fits = input.dtype == inputs[0].dtype && input.shape.rank() == op.shape.size() &&
                contains(Region::whole(input.shape), boxes[at].from) &&
                contains(whole, boxes[at].to);
    require(fits, "assemble", "cannot take its box from an input ", input);
    forward.uses.push_back(read(static_cast<int>(at)));
    s.slots.push_back(
        {Role::input, "x" + std::to_string(at), input, std::vector<DimMap>(input.shape.rank())});
    forward.flops += {boxes[at].to.elements()};
  }
  forward.uses.push_back(write(static_cast<int>(inputs.size())));
  s.slots.push_back(
      {Role::output, "y", {shape_of(op), inputs[0].dtype}, std::vector<DimMap>(op.shape.size())});
  s.phases = {forward};
  return s;
}

}  // namespace troika
