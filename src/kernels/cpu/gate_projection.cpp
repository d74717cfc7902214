// The matrix products of Linear, and products with a weight in panels: chunks of a layer share one
// weight, which is then packed once for all launches of a step.
#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/panel_product.h"

namespace troika {
namespace {

/// p = x W^T and dx = dp W. Operands: the first factor, the weight, the result.
void add_panels(Offers& list, const Request& request) {
  if (request.phase.phase == Phase::backward_weight) return;
  bool is_forward = request.phase.phase == Phase::forward;
  const Shape& x = request.key.inputs[0].shape;
  const Shape& weight = request.shape(1);
  std::int64_t outputs = weight[0] * weight[1], inputs = weight[2];
  PanelProduct product{.rows = x[0] * x[1],
                       .depth = is_forward ? inputs : outputs,
                       .columns = is_forward ? outputs : inputs};
  product.a_row = product.depth, product.c_row = product.columns;
  PanelLayouts layouts = panel_layouts();
  Layout stored = is_forward ? layouts.turned : layouts.straight;
  Candidate candidate{.algorithm = "panels", .layouts = {Layout::plain, stored, Layout::plain}};
  list.push_back(offer_loop(request, candidate, [product](const Launch& launch) {
    PanelProduct own = product;
    own.a = launch.at(0), own.panels = launch.at(1), own.c = launch.at(2);
    multiply(own, launch.threads);
  }));
}

}  // namespace

Offers offers(const GateProjection& op, const Request& request) {
  Linear linear = as_linear(op);
  KernelKey key{linear, request.key.inputs, request.key.phase, {}};
  Offers list = offers(linear, Request(key, request.context));
  // The weight has three dimensions here, so it cannot be stored as a transposed matrix.
  std::erase_if(list, [&](const Offer& offer) {
    for (std::size_t at = 0; at < request.operands.size(); ++at)
      if (!fits(offer.candidate.layouts[at], request.shape(at))) return true;
    return false;
  });
  add_panels(list, request);
  return list;
}

}  // namespace troika
