#include "ops/assemble.h"

#include "ops/require.h"

namespace troika {
namespace {

Shape shape_of(const Assemble& op) { return Shape(std::span(op.shape)); }

}  // namespace

std::vector<Region> boxes_of(const Assemble& op) {
  std::vector<Region> all;
  std::size_t rank = op.shape.size();
  // The flat list holds 2 * rank numbers per box. An incomplete box at the end is left out here and
  // refused by signature().
  for (std::size_t at = 0; rank > 0 && at + 2 * rank <= op.boxes.size(); at += 2 * rank) {
    Region& box = all.emplace_back();
    for (std::size_t dim = 0; dim < rank; ++dim) {
      std::int64_t begin = op.boxes[at + dim], extent = op.boxes[at + rank + dim];
      box.ranges.push_back({begin, begin + extent});
    }
  }
  return all;
}

void add_box(Assemble& op, const Region& to) {
  for (const Range& range : to.ranges) op.boxes.push_back(range.begin);
  for (const Range& range : to.ranges) op.boxes.push_back(range.extent());
}

// `untouched` is the part of y that no input has written yet. An input copies where it meets that
// part and combines in the rest of its box (`again`).
AssemblePlan plan_of(const Assemble& op) {
  AssemblePlan plan;
  std::vector<Region> untouched{Region::whole(shape_of(op))};
  std::vector<Region> boxes = boxes_of(op);
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
  require(!boxes.empty() && op.boxes.size() == 2 * op.shape.size() * boxes.size(), "assemble",
          "needs two numbers per dimension for each of its boxes");
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
  return std::vector<std::int64_t>(op.boxes.size() / 2);
}

bool contain_boxes(std::span<const TensorSpec> inputs, const Assemble& op,
                   std::span<const std::int64_t> position) {
  std::size_t rank = op.shape.size();
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    for (std::size_t dim = 0; dim < rank; ++dim) {
      std::int64_t begin = position[input * rank + dim],
                   extent = op.boxes[(2 * input + 1) * rank + dim];
      if (begin < 0 || begin > inputs[input].shape[dim] - extent) return false;
    }
  }
  return true;
}

std::int64_t box_offset(std::size_t input, const Shape& shape,
                        std::span<const std::int64_t> position) {
  auto strides = shape.strides();
  std::int64_t offset = 0;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim)
    offset += position[input * shape.rank() + dim] * strides[dim];
  return offset;
}

}  // namespace troika
