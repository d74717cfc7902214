// The input projection of all steps is one matrix product, unless it is an input. Each step then is
// one product with U and one pass over its gates.
#include <omp.h>

#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/panel_product.h"
#include "kernels/cpu/recurrent_cell.h"
#include "kernels/cpu/recurrent_steps.h"

namespace troika {
namespace {

struct Forward {
  const RecurrentSteps& s;
  float *h, *c, *y, *cells, *gates, *from_h;
  const float *h0, *c0, *bias;
  const float* from_x;
  std::int64_t from_x_row;
  SampleEnds ends;
  std::int64_t first_unit;

  Forward(const RecurrentSteps& steps, const Arguments& a, float* scratch)
      : s(steps), from_h(scratch), ends(s.ends(a)), first_unit(s.first_unit(a)) {
    h = s.value(a, s.at.h_last), c = s.value(a, s.at.c_last);
    y = s.value(a, s.at.y), cells = s.value(a, s.at.cells);
    // An rnn saves no gates: y holds the input projection until the step replaces it by the result.
    gates = s.at.gates < 0 ? y : s.value(a, s.at.gates);
    h0 = s.value(a, s.at.h0), c0 = s.value(a, s.at.c0), bias = s.value(a, s.at.bias);
    from_x = s.op.projected ? s.value(a, s.at.x) : gates;
    from_x_row = s.op.projected ? s.gates : s.saved;
  }

  /// The outputs h_last and c_last hold the running state until the end.
  void start() const {
    std::fill_n(h, s.samples * s.units, 0.0f);
    for (std::int64_t n = 0; h0 != nullptr && n < s.samples; ++n)
      std::copy_n(h0 + n * s.hidden + first_unit, s.units, h + n * s.units);
    if (c == nullptr) return;
    if (c0 != nullptr)
      std::copy_n(c0, s.samples * s.units, c);
    else
      std::fill_n(c, s.samples * s.units, 0.0f);
  }

  /// U h. Computed for all samples, also for those that have ended; step() ignores the rest.
  void product(const float* panels, std::int64_t k, int threads) const {
    // The state before the first step has all hidden units, and a tile of some has no other step.
    const float* state = k == 0 ? h0 : h;
    if (state == nullptr) return void(std::fill_n(from_h, s.samples * s.gates, 0.0f));
    multiply({.rows = s.samples,
              .depth = s.hidden,
              .columns = s.gates,
              .a = state,
              .a_row = s.hidden,
              .panels = panels,
              .c = from_h,
              .c_row = s.gates},
             threads);
  }

  /// The state of a sample that has ended stays as it is, so h_last is that of its last valid step.
  void step(std::int64_t n, std::int64_t k) const {
    if (k >= s.length(ends, n)) return clear(n * s.steps + k);
    std::int64_t row = s.row(ends, n, k);
    cell_forward(s.op.kind, {.units = s.units,
                             .gates = gates + row * s.saved,
                             .from_x = from_x + row * from_x_row,
                             .from_h = from_h + n * s.gates,
                             .bias = bias,
                             .h = h + n * s.units,
                             .c = s.row_of(c, n, s.units),
                             .y = y + row * s.units,
                             .cells = s.row_of(cells, row, s.units)});
  }

  /// Clears the results of a step beyond the sample's length.
  void clear(std::int64_t row) const {
    std::fill_n(y + row * s.units, s.units, 0.0f);
    std::fill_n(gates + row * s.saved, s.saved, 0.0f);
    if (cells != nullptr) std::fill_n(cells + row * s.units, s.units, 0.0f);
  }
};

/// Not computed if the input projection is an input.
ProductExtent projection_extent(const RecurrentSteps& s) {
  return {s.samples * s.steps, s.gates, s.inputs};
}

/// Floats of scratch before that of the products.
std::int64_t forward_floats(const RecurrentSteps& s, const RecurrentChoice& choice) {
  return s.samples * s.gates + s.hidden_floats(choice);
}

Bytes recurrent_forward_scratch(const RecurrentSteps& s, const RecurrentChoice& choice,
                                int threads) {
  ProductTeam team{.threads = threads, .lanes = choice.lanes};
  ProductExtent product = projection_extent(s);
  std::int64_t projecting = s.op.projected ? 0 : product_floats({&product, 1}, team);
  return {4 * (forward_floats(s, choice) + projecting)};
}

/// The input projection does not depend on the state, so all steps are one large product instead of
/// many small ones. It is written to where the gates are saved.
void project(const RecurrentSteps& s, const Arguments& a, const Forward& run,
             const ProductTeam& team) {
  Matrix x{s.value(a, s.at.x), s.inputs}, w_ih{s.value(a, s.at.w_ih), s.inputs};
  set_product(projection_extent(s), x, w_ih.transposed(), {run.gates, s.saved}, team);
}

Loop recurrent_forward(const RecurrentSteps& steps, const RecurrentChoice& choice) {
  return [steps, choice](const Launch& launch) {
    // For oneDNN's product, which takes the size of its team from OpenMP.
    omp_set_num_threads(launch.threads);
    Arguments a = steps.arguments(launch);
    Forward run(steps, a, launch.work());
    const float* panels =
        steps.hidden_panels(a, choice, launch.threads, launch.work() + steps.samples * steps.gates);
    if (!steps.op.projected)
      project(steps, a, run,
              {launch.threads, choice.lanes, launch.work() + forward_floats(steps, choice)});
    run.start();
    for (std::int64_t k = 0; k < steps.steps; ++k) {
      run.product(panels, k, launch.threads);
      for_rows(launch.threads, steps.samples, 4 * steps.saved,
               [&](std::int64_t n) { run.step(n, k); });
    }
  };
}

/// Two implementations of large products, and U plain or packed once for all launches of a step.
std::vector<std::pair<const char*, RecurrentChoice>> choices(const RecurrentSteps& s) {
  std::vector<std::pair<const char*, RecurrentChoice>> list;
  bool has_large_products = s.phase != Phase::forward || !s.op.projected;
  int lanes = has_large_products ? allowed_lanes() : 0;
  for (Layout stored : {Layout::plain, s.packed_hidden()}) {
    list.push_back({"steps", {.lanes = 0, .stored = stored}});
    if (lanes > 0) list.push_back({"packed_steps", {.lanes = lanes, .stored = stored}});
  }
  return list;
}

}  // namespace

Offers offers(const Recurrent& op, const Request& request) {
  RecurrentSteps steps(op, request);
  bool is_forward = steps.phase == Phase::forward;
  int threads = request.context.threads;
  Offers list;
  for (const auto& [algorithm, choice] : choices(steps)) {
    Candidate candidate{.algorithm = algorithm,
                        .layouts = std::vector(request.operands.size(), Layout::plain)};
    for (std::size_t at = 0; at < request.phase.uses.size(); ++at)
      if (request.phase.uses[at] == read(steps.at.w_hh)) candidate.layouts[at] = choice.stored;
    candidate.scratch = is_forward ? recurrent_forward_scratch(steps, choice, threads)
                                   : recurrent_backward_scratch(steps, choice, threads);
    list.push_back(offer_loop(
        request, candidate,
        is_forward ? recurrent_forward(steps, choice) : recurrent_backward(steps, choice)));
  }
  return list;
}

}  // namespace troika
