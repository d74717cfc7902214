#include "kernels/cpu/recurrent_steps.h"

#include <algorithm>

#include "kernels/cpu/panel_product.h"

namespace troika {
namespace {

char turn(const Matrix& matrix) { return matrix.turned ? 'T' : 'N'; }

Factor factor_of(const Matrix& matrix) {
  Factor plain{matrix.first, matrix.stride, 1};
  return matrix.turned ? plain.turned() : plain;
}

ProductOptions options_of(const ProductTeam& team, bool turned_a) {
  return {.lanes = team.lanes, .threads = team.threads, .turned_a = turned_a};
}

}  // namespace

void set_product(const ProductExtent& extent, const Matrix& a, const Matrix& b, const Matrix& c,
                 const ProductTeam& team) {
  if (team.lanes == 0) {  // oneDNN's product, without scratch of ours
    check_dnnl(dnnl_sgemm(turn(a), turn(b), extent.rows, extent.columns, extent.depth, 1, a.first,
                          a.stride, b.first, b.stride, 0, c.first, c.stride),
               "a matrix product");
    return;
  }
  multiply(ProductPlan(extent, options_of(team, a.turned)),
           {factor_of(a), factor_of(b), c.first, c.stride, {}}, team.work);
}

std::int64_t product_floats(std::span<const ProductExtent> extents, const ProductTeam& team) {
  std::int64_t most = 0;
  for (const ProductExtent& extent : extents) {
    // A turned first factor is packed too and needs more.
    for (bool turned : {false, true}) {
      if (team.lanes == 0) continue;
      ProductPlan plan(extent, options_of(team, turned));
      most = std::max(most, plan.floats_per_part() * plan.parts());
    }
  }
  return most;
}

RecurrentSteps::RecurrentSteps(const Recurrent& recurrent, const Request& request)
    : op(recurrent), at(recurrent), signature(request.signature), phase(request.key.phase) {
  const Shape& x = request.key.inputs[0].shape;
  samples = x[0], steps = x[1], inputs = op.projected ? 0 : x[2];
  hidden = op.hidden, units = units_of(op);
  gates = gates_of(op.kind) * units;
  saved = biases_of(op.kind) * units;
}

// Forward multiplies by the transpose of U, whose rows are the gates; backward by U itself.
const float* RecurrentSteps::hidden_panels(const Arguments& a, const RecurrentChoice& choice,
                                           int threads, float* scratch) const {
  const float* first = value(a, at.w_hh);
  if (choice.stored != Layout::plain) return first;
  SharedFactor factor = phase == Phase::forward ? SharedFactor{first, 1, hidden, hidden, gates}
                                                : SharedFactor{first, hidden, 1, gates, hidden};
  pack_panels(factor, threads, scratch);
  return scratch;
}

std::int64_t RecurrentSteps::hidden_floats(const RecurrentChoice& choice) const {
  if (choice.stored != Layout::plain) return 0;
  return phase == Phase::forward ? panel_floats(hidden, gates) : panel_floats(gates, hidden);
}

Layout RecurrentSteps::packed_hidden() const {
  PanelLayouts layouts = panel_layouts();
  return phase == Phase::forward ? layouts.turned : layouts.straight;
}

std::int64_t RecurrentSteps::length(const SampleEnds& ends, std::int64_t n) const {
  if (ends.lengths == nullptr) return steps;
  return std::clamp<std::int64_t>(ends.lengths[n] - ends.begin, 0, steps);
}

// Backwards, a sample starts at its own last valid element, not at that of the longest sample.
std::int64_t RecurrentSteps::row(const SampleEnds& ends, std::int64_t n, std::int64_t k) const {
  return n * steps + (op.reverse ? length(ends, n) - 1 - k : k);
}

}  // namespace troika
