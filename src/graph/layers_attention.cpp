#include "graph/layers_attention.h"

namespace troika::layers {
namespace {

TensorId attend(GraphBuilder& b, const std::string& name, std::vector<TensorId> inputs,
                const AttentionOptions& options) {
  Attention op{.heads = options.heads,
               .causal = options.causal,
               .packed = inputs.size() == 1,
               .has_mask = options.mask.has_value()};
  if (options.mask) inputs.push_back(*options.mask);
  return b.add(name, op, inputs);
}

}  // namespace

TensorId self_attention(GraphBuilder& b, const std::string& name, TensorId x,
                        const AttentionOptions& options) {
  std::int64_t width = b.shape(x).back();
  TensorId qkv = linear(b, name + ".qkv", x, {.out = 3 * width, .init = options.init});
  TensorId y = attend(b, name, {qkv}, options);
  return linear(b, name + ".proj", y, {.out = width, .init = options.project_init});
}

TensorId cross_attention(GraphBuilder& b, const std::string& name, TensorId x, TensorId memory,
                         const AttentionOptions& options) {
  // Queries, keys and values must have one width, whatever the width of `memory` is.
  LinearOptions project{.out = b.shape(x).back(), .init = options.init};
  TensorId q = linear(b, name + ".query", x, project);
  TensorId k = linear(b, name + ".key", memory, project);
  TensorId v = linear(b, name + ".value", memory, project);
  TensorId y = attend(b, name, {q, k, v}, options);
  return linear(b, name + ".proj", y, {.out = project.out, .init = options.project_init});
}

}  // namespace troika::layers
