#include "api/build_network.h"

#include <fmt/format.h>

#include "api/node.h"
#include "base/error.h"
#include "zoo/inputs_and_loss.h"

namespace troika::internal {
namespace {

std::string_view name_of(loss::Kind kind) {
  switch (kind) {
    case loss::Kind::cross_entropy:
      return "cross_entropy";
    case loss::Kind::mean_squared_error:
      return "mean_squared_error";
    case loss::Kind::mean_absolute_error:
      return "mean_absolute_error";
    case loss::Kind::sigmoid_cross_entropy:
      return "sigmoid_cross_entropy";
    case loss::Kind::of_model:
      return "of_model";
  }
  throw Bug("a loss without a name");
}

/// The public name of a loss operator. Losses that only zoo models have are not listed.
std::string name_of_loss(const Op& op) {
  if (const auto* error = std::get_if<MeanError>(&op))
    return fmt::format("mean_{}_error",
                       enum_names(error->penalty)[static_cast<std::size_t>(error->penalty)]);
  return std::string(name_of(op));
}

zoo::Model build_zoo(zoo::ModelRequest request, const loss::Loss& loss,
                     const zoo::Samples& samples) {
  request.samples = samples;
  zoo::Model model = zoo::build(request);
  const Graph& graph = model.train();
  std::string own = name_of_loss(graph[graph[graph.loss->loss_sum].producer].op);
  if (loss.kind != loss::Kind::of_model && name_of(loss.kind) != own)
    throw Error(ErrorKind::usage,
                fmt::format("the model '{}' is trained with {}, not {}; pass loss::of_model()",
                            request.name, own, name_of(loss.kind)));
  return model;
}

const zoo::Field& field(const zoo::Samples& samples, const std::string& name) {
  const zoo::Field* found = samples.find(name);
  if (!found)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "the samples have no field '{}'; set the target of the loss to \"target\" or \"input\"",
            name));
  return *found;
}

TensorSpec batched_spec(const zoo::Field& of, const zoo::Samples& samples) {
  DType dtype = of.spec.dtype == DType::i32 ? DType::i32 : samples.dtype;
  return {zoo::batched(samples.batch, of.spec.shape), dtype};
}

void require_logits(const GraphBuilder& b, TensorId logits, const zoo::Samples& samples) {
  if (b.shape(logits).back() >= samples.classes) return;
  throw Error(ErrorKind::usage,
              fmt::format("the network gives {} logits, but the samples have {} classes; end it "
                          "with linear(), which has one for each",
                          b.shape(logits).back(), samples.classes));
}

/// The field that the network's result is compared with. A loss without one takes numbers to
/// predict if the samples have them, otherwise the input.
std::string target_of(const loss::Loss& loss, const zoo::Samples& samples) {
  if (!loss.target.empty()) return loss.target;
  const zoo::Field* target = samples.find("target");
  return target != nullptr && target->spec.dtype != DType::i32 ? "target" : "input";
}

/// Reshapes the target to the shape of `like`. Throws Error(usage) if it has another number of
/// elements.
TensorId in_shape_of(GraphBuilder& b, TensorId target, TensorId like) {
  const Shape& shape = b.shape(like);
  if (b.shape(target) == shape) return target;
  if (b.shape(target).elements() != shape.elements())
    throw Error(ErrorKind::usage, fmt::format("the output of the network is {}, but the loss "
                                              "compares it with a target of {}; make them equal",
                                              to_string(shape), to_string(b.shape(target))));
  // 0 keeps the extent of the batch.
  Reshape reshape{.shape = {0}};
  for (std::size_t dim = 1; dim < shape.rank(); ++dim) reshape.shape.push_back(shape[dim]);
  return b.add("loss.target", reshape, {target});
}

class NetworkBuilder {
 public:
  NetworkBuilder(const loss::Loss& loss, const zoo::Samples& samples)
      : loss_(loss), samples_(samples) {
    input_ = builder_.input("input", batched_spec(field(samples, "input"), samples));
    target_ = add_target();
    weight_ = builder_.input("weight", {weight_shape(), samples.dtype});
  }

  Graph build(const Node& node) {
    std::string name = node.is_sequence || !node.name.empty() ? node.name : node.kind + "1";
    TensorId result = node.apply({builder_, samples_, name}, input_);
    add_loss(result);
    Graph graph = builder_.finish();
    // The number of shards belongs to the run and is the same for all layers.
    for (Operator& op : graph.operators)
      if (auto* norm = std::get_if<BatchNorm>(&op.op)) norm->shards = samples_.shards;
    verify(graph);
    return graph;
  }

 private:
  bool classifies() const { return loss_.kind == loss::Kind::cross_entropy; }

  Shape weight_shape() const {
    // One weight per class index, as for each token of a text; otherwise one per sample.
    return classifies() ? builder_.shape(target_) : Shape{samples_.batch};
  }

  TensorId add_target() {
    const zoo::Field& target = field(samples_, target_of(loss_, samples_));
    bool is_tokens = target.spec.dtype == DType::i32;
    if (is_tokens != classifies())
      throw Error(
          ErrorKind::usage,
          fmt::format("loss::{} cannot compare with '{}', which is {}; {}", name_of(loss_.kind),
                      target.name, to_string(target.spec),
                      is_tokens ? "use cross_entropy for classes, or set .target = \"input\""
                                : "its target must be classes"));
    // An autoencoder compares with its own input, which may appear only once among the inputs.
    if (target.name == "input") return input_;
    return builder_.input(target.name, batched_spec(target, samples_));
  }

  void add_loss(TensorId result) {
    if (classifies()) {
      require_logits(builder_, result, samples_);
      return zoo::classify(builder_, {input_, target_, weight_}, result);
    }
    TensorId target = in_shape_of(builder_, target_, result);
    if (loss_.kind == loss::Kind::sigmoid_cross_entropy) {
      builder_.output("output", result);
      return builder_.loss("loss", SigmoidCrossEntropy{}, {result, target, weight_});
    }
    bool is_squared = loss_.kind == loss::Kind::mean_squared_error;
    zoo::add_loss(builder_, {input_, target, weight_}, result,
                  {.model = "network", .value = is_squared ? "squared" : "absolute"});
  }

  const loss::Loss& loss_;
  const zoo::Samples& samples_;
  GraphBuilder builder_{"network"};
  TensorId input_;
  TensorId target_;
  TensorId weight_;
};

}  // namespace

zoo::Model build_network(const nn::Module& network, const loss::Loss& loss,
                         const zoo::Samples& samples) {
  const Node& node = network.node();
  if (node.zoo) return build_zoo(*node.zoo, loss, samples);
  if (loss.kind == loss::Kind::of_model)
    throw Error(ErrorKind::usage, "loss::of_model() is for models of the zoo; name a loss");
  NetworkBuilder builder(loss, samples);
  return {"network", {{"train", builder.build(node)}}};
}

}  // namespace troika::internal
