// Each step gives the gradients of its gates; those of all steps together then give dx, dW, dU and
// dbias by large products.
#include <omp.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cpu/channel_sums.h"
#include "kernels/cpu/panel_product.h"
#include "kernels/cpu/recurrent_cell.h"
#include "kernels/cpu/recurrent_steps.h"

namespace troika {
namespace {

/// The gradients of gates, all steps in the order of x, as a tensor whose channels are the numbers
/// of one step.
ChannelView view_of(const RecurrentSteps& s) {
  return {.inner = s.samples * s.steps, .lanes = s.saved, .channels = s.saved};
}

/// Rows of U and the columns of the gates' gradients that belong to them. In a GRU the block n of
/// the input does not depend on U h.
struct HiddenPart {
  std::int64_t row, column, extent;
};

std::vector<HiddenPart> hidden_parts(const RecurrentSteps& s) {
  if (s.op.kind != RecurrentKind::gru) return {{0, 0, s.gates}};
  return {{0, 0, 2 * s.hidden}, {2 * s.hidden, 3 * s.hidden, s.hidden}};
}

std::int64_t hidden_panel_floats(const RecurrentSteps& s, std::span<const HiddenPart> parts) {
  std::int64_t floats = 0;
  for (const HiddenPart& part : parts) floats += panel_floats(part.extent, s.hidden);
  return floats;
}

/// Floats between the sums of the bias and the scratch of products.
std::int64_t floats_of(const RecurrentSteps& s) {
  std::int64_t rows = s.samples * s.steps;
  return rows * (s.saved + s.hidden) + s.samples * (s.saved + 2 * s.hidden) + s.hidden +
         hidden_panel_floats(s, hidden_parts(s));
}

/// The products that give dx, dW and the parts of dU.
std::vector<ProductExtent> gradient_products(const RecurrentSteps& s) {
  std::int64_t rows = s.samples * s.steps;
  std::vector<ProductExtent> list{{rows, s.inputs, s.gates}, {s.gates, s.inputs, rows}};
  for (const HiddenPart& part : hidden_parts(s)) list.push_back({part.extent, s.hidden, rows});
  return list;
}

struct Backward {
  const RecurrentSteps& s;
  const float *y, *gates, *cells, *h0, *c0, *dy;
  SampleEnds ends;
  double* bias_sums;
  // A step's gradients are kept twice. In the order of x its rows are not evenly spaced if
  // sequences are reversed and differ in length, so the product with U reads them from step_dgates.
  float *dgates, *h_before;      ///< Of all steps, in the order of x.
  float *step_dgates, *dh, *dc;  ///< Of one step, by sample.
  float *zeros, *panels;
  ProductTeam team;

  Backward(const RecurrentSteps& steps, std::span<const HiddenPart> parts, const Arguments& a,
           const Launch& launch)
      : s(steps), team{launch.threads} {
    y = s.value(a, s.at.y), gates = s.value(a, s.at.gates), cells = s.value(a, s.at.cells);
    h0 = s.value(a, s.at.h0), c0 = s.value(a, s.at.c0);
    dy = s.gradient(a, s.at.y);
    ends = s.ends(a);
    bias_sums = launch.work<double>();
    auto* next =
        reinterpret_cast<float*>(bias_sums + channel_sum_doubles(view_of(s), launch.threads));
    auto take = [&](std::int64_t floats) { return std::exchange(next, next + floats); };
    dgates = take(s.samples * s.steps * s.saved), h_before = take(s.samples * s.steps * s.hidden);
    step_dgates = take(s.samples * s.saved);
    dh = take(s.samples * s.hidden), dc = take(s.samples * s.hidden);
    zeros = take(s.hidden), panels = take(hidden_panel_floats(s, parts));
    team.work = next;
  }

  /// Packs the parts of U, by which each step multiplies, one after another.
  void pack(const Arguments& a, const std::vector<HiddenPart>& parts, int threads) const {
    float* to = panels;
    for (const HiddenPart& part : parts) {
      const float* first = s.value(a, s.at.w_hh) + part.row * s.hidden;
      pack_panels({first, s.hidden, 1, part.extent, s.hidden}, threads, to);
      to += panel_floats(part.extent, s.hidden);
    }
  }

  void start(const Arguments& a) const {
    std::fill_n(zeros, s.hidden, 0.0f);
    std::copy_n(s.gradient(a, s.at.h_last), s.samples * s.hidden, dh);
    if (s.at.c_last >= 0) std::copy_n(s.gradient(a, s.at.c_last), s.samples * s.hidden, dc);
  }

  /// The state before step k: a row of `states` (y or cells) that forward saved, or the start.
  const float* before(const float* states, const float* first, std::int64_t n,
                      std::int64_t k) const {
    if (k > 0) return s.row_of(states, s.row(ends, n, k - 1), s.hidden);
    return first == nullptr ? zeros : first + n * s.hidden;
  }

  void step(std::int64_t n, std::int64_t k) const {
    if (k >= s.length(ends, n)) return skip(n, k);
    std::int64_t row = s.row(ends, n, k);
    BackwardCell cell{.hidden = s.hidden,
                      .gates = s.row_of(gates, row, s.saved),
                      .y = y + row * s.hidden,
                      .cells = s.row_of(cells, row, s.hidden),
                      .h_before = before(y, h0, n, k),
                      .c_before = before(cells, c0, n, k),
                      .dy = dy + row * s.hidden,
                      .dh = dh + n * s.hidden,
                      .dc = dc + n * s.hidden,
                      .dgates = step_dgates + n * s.saved};
    cell_backward(s.op.kind, cell);
    // Kept for all steps, so that dW, dU and dx are one large product each.
    std::copy_n(cell.dgates, s.saved, dgates + row * s.saved);
    std::copy_n(cell.h_before, s.hidden, h_before + row * s.hidden);
  }

  /// A step beyond the sample's length: dh and dc are not changed, and zeros add nothing to the
  /// products.
  void skip(std::int64_t n, std::int64_t k) const {
    std::int64_t row = n * s.steps + k;
    std::fill_n(step_dgates + n * s.saved, s.saved, 0.0f);
    std::fill_n(dgates + row * s.saved, s.saved, 0.0f);
    std::fill_n(h_before + row * s.hidden, s.hidden, 0.0f);
  }
};

/// dx = dgates W, dW = dgates^T x, dU = dgates^T h_before.
void products(const RecurrentSteps& s, const std::vector<HiddenPart>& parts, const Arguments& a,
              const Backward& run) {
  std::int64_t rows = s.samples * s.steps;
  Matrix dgates{run.dgates, s.saved}, h_before{run.h_before, s.hidden};
  Matrix x{s.value(a, s.at.x), s.inputs}, w_ih{s.value(a, s.at.w_ih), s.inputs};
  set_product({rows, s.inputs, s.gates}, dgates, w_ih, {s.gradient(a, s.at.x), s.inputs}, run.team);
  set_product({s.gates, s.inputs, rows}, dgates.transposed(), x,
              {s.gradient(a, s.at.w_ih), s.inputs}, run.team);
  float* dw_hh = s.gradient(a, s.at.w_hh);
  for (const HiddenPart& part : parts) {
    set_product({part.extent, s.hidden, rows}, dgates.columns_from(part.column).transposed(),
                h_before, {dw_hh + part.row * s.hidden, s.hidden}, run.team);
  }
}

void bias_gradient(const RecurrentSteps& s, int threads, const Backward& run, float* dbias) {
  const float* dgates = run.dgates;
  double* sums = run.bias_sums;
  channel_sums(
      view_of(s), threads, sums, [dgates](std::int64_t i, std::int64_t) { return dgates[i]; },
      NoTerm());
  run_range(0, s.saved, [=](std::int64_t i) { dbias[i] = static_cast<float>(sums[i]); });
}

}  // namespace

Bytes recurrent_backward_scratch(const RecurrentSteps& steps, const ProductTeam& team) {
  return {8 * channel_sum_doubles(view_of(steps), team.threads) +
          4 * (floats_of(steps) + product_floats(gradient_products(steps), team))};
}

Loop recurrent_backward(const RecurrentSteps& steps, int lanes) {
  return [steps, lanes, parts = hidden_parts(steps)](const Launch& launch) {
    omp_set_num_threads(launch.threads);
    Arguments a = steps.arguments(launch);
    Backward run(steps, parts, a, launch);
    run.team.lanes = lanes;
    run.start(a);
    run.pack(a, parts, launch.threads);
    // cell_backward leaves in dh the part that does not pass through U; dgates U is added to it and
    // gives the gradient of the state before the step.
    for (std::int64_t k = steps.steps; k-- > 0;) {
      for_rows(launch.threads, steps.samples, 4 * steps.saved,
               [&](std::int64_t n) { run.step(n, k); });
      float* panels = run.panels;
      for (const HiddenPart& part : parts) {
        multiply({.rows = steps.samples,
                  .depth = part.extent,
                  .columns = steps.hidden,
                  .a = run.step_dgates + part.column,
                  .a_row = steps.saved,
                  .panels = panels,
                  .c = run.dh,
                  .c_row = steps.hidden,
                  .adds = true},
                 launch.threads);
        panels += panel_floats(part.extent, steps.hidden);
      }
    }
    if (steps.at.h0 >= 0)
      std::copy_n(run.dh, steps.samples * steps.hidden, steps.gradient(a, steps.at.h0));
    if (steps.at.c0 >= 0)
      std::copy_n(run.dc, steps.samples * steps.hidden, steps.gradient(a, steps.at.c0));
    products(steps, parts, a, run);
    bias_gradient(steps, launch.threads, run, steps.gradient(a, steps.at.bias));
  };
}

}  // namespace troika
