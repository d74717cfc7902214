#include "lower/cut_request.h"

namespace troika {

CutRequest::CutRequest(const LowerRequest& model)
    : cuts(layer_cuts(*model.strategy, *model.graph)), request(model) {
  if (cuts.chunks.empty()) return;
  cut = cut_layers(*model.graph, cuts);
  strategy = cut_strategy(*model.strategy, *model.graph, *cut);
  request.graph = &cut->graph;
  request.strategy = &strategy;
}

}  // namespace troika
