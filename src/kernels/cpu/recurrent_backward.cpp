// Each step gives the gradients of its gates; those of all steps together then give dx, dW, dU and
// dbias by large products. A projected operator's dp are these gradients themselves.
#include <omp.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cpu/channel_sums.h"
#include "kernels/cpu/panel_product.h"
#include "kernels/cpu/recurrent_cell.h"
#include "kernels/cpu/recurrent_steps.h"

namespace troika {
namespace {

/// Gradients of all steps in the order of x, as a tensor whose channels are the numbers of one
/// step.
ChannelView view_of(const RecurrentSteps& s, std::int64_t numbers) {
  return {.inner = s.samples * s.steps, .lanes = numbers, .channels = numbers};
}

/// In a GRU, the gradient of the part of n that comes from h differs from that of the input
/// projection. Numbers of one step; 0 for others.
std::int64_t candidate_units(const RecurrentSteps& s) {
  return s.op.kind == RecurrentKind::gru ? s.units : 0;
}

/// Floats between the sums of the bias and the scratch of products.
std::int64_t floats_of(const RecurrentSteps& s, const RecurrentChoice& choice) {
  std::int64_t rows = s.samples * s.steps, dfrom_x = s.op.projected ? 0 : s.gates;
  return rows * (dfrom_x + candidate_units(s) + s.hidden) +
         s.samples * (s.gates + s.hidden + s.units) + s.hidden + s.hidden_floats(choice);
}

/// Rows of dU that are one product: `from` [n * t, row] has their gradients as its columns.
struct HiddenRows {
  std::int64_t first, count;
  float* from;
  std::int64_t row;
};

struct Backward {
  const RecurrentSteps& s;
  const float *y, *gates, *cells, *h0, *c0, *dy;
  SampleEnds ends;
  std::int64_t first_unit;
  double* bias_sums;
  // Of all steps, in the order of x: gradients of the input projection, of the part of n from h in
  // a GRU, and the state before each step.
  float *dfrom_x, *dcandidate, *h_before;
  // Of one step, by sample, which is the order of the product with U.
  float *dfrom_h, *dh, *dc;
  float *zeros, *panels;
  ProductTeam team;

  Backward(const RecurrentSteps& steps, const RecurrentChoice& choice, const Arguments& a,
           const Launch& launch)
      : s(steps), ends(s.ends(a)), first_unit(s.first_unit(a)), team{launch.threads, choice.lanes} {
    y = s.value(a, s.at.y), gates = s.value(a, s.at.gates), cells = s.value(a, s.at.cells);
    h0 = s.value(a, s.at.h0), c0 = s.value(a, s.at.c0);
    dy = s.gradient(a, s.at.y);
    bias_sums = launch.work<double>();
    auto* next = reinterpret_cast<float*>(bias_sums +
                                          channel_sum_doubles(view_of(s, s.gates), launch.threads));
    auto take = [&](std::int64_t floats) { return std::exchange(next, next + floats); };
    std::int64_t rows = s.samples * s.steps;
    dfrom_x = s.op.projected ? s.gradient(a, s.at.x) : take(rows * s.gates);
    dcandidate = take(rows * candidate_units(s)), h_before = take(rows * s.hidden);
    dfrom_h = take(s.samples * s.gates);
    dh = take(s.samples * s.hidden), dc = take(s.samples * s.units);
    zeros = take(s.hidden), panels = take(s.hidden_floats(choice));
    team.work = next;
  }

  /// dh has all hidden units, because the product with U gives them all.
  void start(const Arguments& a) const {
    std::fill_n(zeros, s.hidden, 0.0f);
    std::fill_n(dh, s.samples * s.hidden, 0.0f);
    const float* dh_last = s.gradient(a, s.at.h_last);
    for (std::int64_t n = 0; n < s.samples; ++n)
      std::copy_n(dh_last + n * s.units, s.units, dh + n * s.hidden + first_unit);
    if (s.at.c_last >= 0) std::copy_n(s.gradient(a, s.at.c_last), s.samples * s.units, dc);
  }

  /// A row of the state before step k: of `states` (y or cells), which forward saved, or of the
  /// start. Their widths differ in a tile of some units, which has one step.
  const float* before(const float* states, const float* first, std::int64_t width, std::int64_t n,
                      std::int64_t k) const {
    if (k > 0) return s.row_of(states, s.row(ends, n, k - 1), s.units);
    return first == nullptr ? zeros : first + n * width;
  }

  void step(std::int64_t n, std::int64_t k) const {
    if (k >= s.length(ends, n)) return skip(n, k);
    std::int64_t row = s.row(ends, n, k);
    const float* h = before(y, h0, s.hidden, n, k);
    BackwardCell cell{.units = s.units,
                      .gates = s.row_of(gates, row, s.saved),
                      .y = y + row * s.units,
                      .cells = s.row_of(cells, row, s.units),
                      .h_before = h + first_unit,
                      .c_before = before(cells, c0, s.units, n, k),
                      .dy = dy + row * s.units,
                      .dh = dh + n * s.hidden + first_unit,
                      .dc = dc + n * s.units,
                      .dfrom_x = dfrom_x + row * s.gates,
                      .dfrom_h = dfrom_h + n * s.gates};
    cell_backward(s.op.kind, cell);
    // Kept for all steps, so that dU is few large products.
    std::int64_t candidates = candidate_units(s);
    std::copy_n(cell.dfrom_h + s.gates - candidates, candidates, dcandidate + row * candidates);
    std::copy_n(h, s.hidden, h_before + row * s.hidden);
  }

  /// A step beyond the sample's length: dh and dc are not changed, and zeros add nothing to the
  /// products.
  void skip(std::int64_t n, std::int64_t k) const {
    std::int64_t row = n * s.steps + k, candidates = candidate_units(s);
    std::fill_n(dfrom_h + n * s.gates, s.gates, 0.0f);
    std::fill_n(dfrom_x + row * s.gates, s.gates, 0.0f);
    std::fill_n(dcandidate + row * candidates, candidates, 0.0f);
    std::fill_n(h_before + row * s.hidden, s.hidden, 0.0f);
  }

  /// The second part has no rows except in a GRU.
  std::array<HiddenRows, 2> hidden_rows() const {
    std::int64_t candidates = candidate_units(s), others = s.gates - candidates;
    return {{{0, others, dfrom_x, s.gates}, {others, candidates, dcandidate, candidates}}};
  }
};

/// The extents of the products below.
std::vector<ProductExtent> gradient_products(const RecurrentSteps& s) {
  std::int64_t rows = s.samples * s.steps, candidates = candidate_units(s);
  std::vector<ProductExtent> list{{s.gates - candidates, s.hidden, rows}};
  if (candidates > 0) list.push_back({candidates, s.hidden, rows});
  if (s.op.projected) return list;
  list.push_back({rows, s.inputs, s.gates});
  list.push_back({s.gates, s.inputs, rows});
  return list;
}

/// dx = dfrom_x W, dW = dfrom_x^T x, dU = dfrom_h^T h_before.
void products(const RecurrentSteps& s, const Arguments& a, const Backward& run) {
  std::int64_t rows = s.samples * s.steps;
  float* dw_hh = s.gradient(a, s.at.w_hh);
  for (const HiddenRows& part : run.hidden_rows()) {
    if (part.count == 0) continue;
    Matrix gradients{part.from, part.row};
    set_product({part.count, s.hidden, rows}, gradients.transposed(), {run.h_before, s.hidden},
                {dw_hh + part.first * s.hidden, s.hidden}, run.team);
  }
  if (s.op.projected) return;
  Matrix dfrom_x{run.dfrom_x, s.gates};
  Matrix x{s.value(a, s.at.x), s.inputs}, w_ih{s.value(a, s.at.w_ih), s.inputs};
  set_product({rows, s.inputs, s.gates}, dfrom_x, w_ih, {s.gradient(a, s.at.x), s.inputs},
              run.team);
  set_product({s.gates, s.inputs, rows}, dfrom_x.transposed(), x,
              {s.gradient(a, s.at.w_ih), s.inputs}, run.team);
}

/// The sum over all steps of gradients with so many numbers each.
void sum_steps(const Backward& run, const float* gradients, std::int64_t numbers, float* to) {
  double* sums = run.bias_sums;
  channel_sums(
      view_of(run.s, numbers), run.team.threads, sums,
      [gradients](std::int64_t i, std::int64_t) { return gradients[i]; }, NoTerm());
  run_range(0, numbers, [=](std::int64_t i) { to[i] = static_cast<float>(sums[i]); });
}

}  // namespace

Bytes recurrent_backward_scratch(const RecurrentSteps& steps, const RecurrentChoice& choice,
                                 int threads) {
  ProductTeam team{.threads = threads, .lanes = choice.lanes};
  return {8 * channel_sum_doubles(view_of(steps, steps.gates), threads) +
          4 * (floats_of(steps, choice) + product_floats(gradient_products(steps), team))};
}

Loop recurrent_backward(const RecurrentSteps& steps, const RecurrentChoice& choice) {
  return [steps, choice](const Launch& launch) {
    omp_set_num_threads(launch.threads);
    Arguments a = steps.arguments(launch);
    Backward run(steps, choice, a, launch);
    run.start(a);
    const float* panels = steps.hidden_panels(a, choice, launch.threads, run.panels);
    for (std::int64_t k = steps.steps; k-- > 0;) {
      for_rows(launch.threads, steps.samples, 4 * steps.saved,
               [&](std::int64_t n) { run.step(n, k); });
      // cell_backward leaves in dh the part that does not pass through U; dfrom_h U is added to it
      // and gives the gradient of the state before the step, which nobody wants without h0.
      if (k == 0 && steps.at.h0 < 0) break;
      multiply({.rows = steps.samples,
                .depth = steps.gates,
                .columns = steps.hidden,
                .a = run.dfrom_h,
                .a_row = steps.gates,
                .panels = panels,
                .c = run.dh,
                .c_row = steps.hidden,
                .adds = true},
               launch.threads);
    }
    if (steps.at.h0 >= 0)
      std::copy_n(run.dh, steps.samples * steps.hidden, steps.gradient(a, steps.at.h0));
    if (steps.at.c0 >= 0)
      std::copy_n(run.dc, steps.samples * steps.units, steps.gradient(a, steps.at.c0));
    products(steps, a, run);
    float* dbias = steps.gradient(a, steps.at.bias);
    sum_steps(run, run.dfrom_x, steps.gates, dbias);
    sum_steps(run, run.dcandidate, candidate_units(steps), dbias + steps.gates);
  };
}

}  // namespace troika
