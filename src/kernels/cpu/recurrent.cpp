// W x of all steps is one matrix product; then each step is one product with U and one pass over
// its gates.
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
  const float* bias;
  SampleEnds ends;

  Forward(const RecurrentSteps& steps, const Arguments& a, float* scratch)
      : s(steps), from_h(scratch) {
    h = s.value(a, s.at.h_last), c = s.value(a, s.at.c_last);
    y = s.value(a, s.at.y), cells = s.value(a, s.at.cells);
    // An rnn saves no gates: y holds W x until the step replaces it by the result.
    gates = s.at.gates < 0 ? y : s.value(a, s.at.gates);
    bias = s.value(a, s.at.bias);
    ends = s.ends(a);
  }

  /// The outputs h_last and c_last hold the running state until the end.
  void start(const Arguments& a) const {
    auto begin = [&](const float* from, float* to) {
      if (from != nullptr)
        std::copy_n(from, s.samples * s.hidden, to);
      else
        std::fill_n(to, s.samples * s.hidden, 0.0f);
    };
    begin(s.value(a, s.at.h0), h);
    if (c != nullptr) begin(s.value(a, s.at.c0), c);
  }

  /// The state of a sample that has ended stays as it is, so h_last is that of its last valid step.
  void step(std::int64_t n, std::int64_t k) const {
    if (k >= s.length(ends, n)) return clear(n * s.steps + k);
    std::int64_t row = s.row(ends, n, k);
    cell_forward(s.op.kind, {.hidden = s.hidden,
                             .gates = gates + row * s.saved,
                             .from_h = from_h + n * s.gates,
                             .bias = bias,
                             .h = h + n * s.hidden,
                             .c = s.row_of(c, n, s.hidden),
                             .y = y + row * s.hidden,
                             .cells = s.row_of(cells, row, s.hidden)});
  }

  /// Clears the results of a step beyond the sample's length.
  void clear(std::int64_t row) const {
    std::fill_n(y + row * s.hidden, s.hidden, 0.0f);
    std::fill_n(gates + row * s.saved, s.saved, 0.0f);
    if (cells != nullptr) std::fill_n(cells + row * s.hidden, s.hidden, 0.0f);
  }
};

ProductExtent input_product(const RecurrentSteps& s) {
  return {s.samples * s.steps, s.gates, s.inputs};
}

/// Floats of scratch before that of the products.
std::int64_t forward_floats(const RecurrentSteps& s) {
  return s.samples * s.gates + panel_floats(s.hidden, s.gates);
}

Loop recurrent_forward(const RecurrentSteps& steps, int lanes) {
  return [steps, lanes](const Launch& launch) {
    // For oneDNN's product, which takes the size of its team from OpenMP.
    omp_set_num_threads(launch.threads);
    Arguments a = steps.arguments(launch);
    Forward run(steps, a, launch.work());
    Matrix x{steps.value(a, steps.at.x), steps.inputs},
        w_ih{steps.value(a, steps.at.w_ih), steps.inputs};
    float* panels = launch.work() + steps.samples * steps.gates;
    // The transpose of U, by which each step multiplies.
    pack_panels({steps.value(a, steps.at.w_hh), 1, steps.hidden, steps.hidden, steps.gates},
                launch.threads, panels);
    // W x does not depend on the state, so all steps are one large product instead of many small
    // ones. It is written to where the gates are saved.
    set_product(input_product(steps), x, w_ih.transposed(), {run.gates, steps.saved},
                {launch.threads, lanes, launch.work() + forward_floats(steps)});
    run.start(a);
    for (std::int64_t k = 0; k < steps.steps; ++k) {
      // Computed for all samples, also for those that have ended; step() ignores the rest.
      multiply({.rows = steps.samples,
                .depth = steps.hidden,
                .columns = steps.gates,
                .a = run.h,
                .a_row = steps.hidden,
                .panels = panels,
                .c = run.from_h,
                .c_row = steps.gates},
               launch.threads);
      for_rows(launch.threads, steps.samples, 4 * steps.saved,
               [&](std::int64_t n) { run.step(n, k); });
    }
  };
}

}  // namespace

Offers offers(const Recurrent& op, const Request& request) {
  if (op.projected) return {};
  RecurrentSteps steps(op, request);
  bool is_forward = request.key.phase == Phase::forward;
  Offers list;
  auto add = [&](const char* algorithm, int lanes) {
    ProductTeam team{.threads = request.context.threads, .lanes = lanes};
    ProductExtent product = input_product(steps);
    Candidate candidate{.algorithm = algorithm,
                        .layouts = std::vector(request.operands.size(), Layout::plain)};
    candidate.scratch =
        is_forward ? Bytes{4 * (forward_floats(steps) + product_floats({&product, 1}, team))}
                   : recurrent_backward_scratch(steps, team);
    list.push_back(offer_loop(
        request, candidate,
        is_forward ? recurrent_forward(steps, lanes) : recurrent_backward(steps, lanes)));
  };
  add("steps", 0);
  if (int lanes = allowed_lanes(); lanes > 0) add("packed_steps", lanes);
  return list;
}

}  // namespace troika
