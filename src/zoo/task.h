// Inputs and loss of a training graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/builder.h"
#include "zoo/model.h"

namespace troika::zoo {

struct TaskInputs {
  TensorId input;
  TensorId target;  ///< i32 [n], or [n,t] for one target per token; floats [n,k] to be predicted.
  TensorId weight;  ///< Of each target; of each sample where targets are floats.
};

/// [batch, sample…]
Shape batched(std::int64_t batch, const Shape& sample);
/// The shape of the samples' "input", or the usual one. Throws Error(usage) when the input is
/// tokens.
Shape input_shape(std::string_view model, const Samples& samples, const Shape& usual);
/// Images [c,h,w] of at least `smallest` rows and columns.
Shape image_shape(std::string_view model, const Samples& samples, const Shape& usual,
                  std::int64_t smallest = 1);

/// "input" [n, …] of floats, "target" i32 [n], or [n,k] of floats where the samples' targets are
/// numbers to predict, and "weight" [n]; to be called before any operator is added.
TaskInputs float_inputs(GraphBuilder& b, const Samples& samples, const Shape& input);
enum class TargetPer { token, sample };
struct TokenTask {
  std::string_view model;
  std::int64_t usual_length = 0;
  TargetPer target = TargetPer::token;
  bool reads_source = false;  ///< Another text beside the input.
};
/// "input" i32 [n,t], "target" i32 and "weight" [n,t] or [n]; to be called before any operator is
/// added. Throws Error(usage) when the samples are of another kind, naming one that would do.
TaskInputs token_inputs(GraphBuilder& b, const Samples& samples, const TokenTask& task);
/// Tokens of a sample: those of the field "input", or the usual number.
std::int64_t sequence_length(std::string_view model, const Samples& samples, std::int64_t usual);

/// An input that not all data sets have: absent unless a field is called so.
std::optional<TensorId> optional_input(GraphBuilder& b, const Samples& samples,
                                       const std::string& name, const TensorSpec& spec);

/// An input that samples must have, and who has it.
struct NeededField {
  std::string_view name;
  std::string_view source;  ///< "pairs of texts: data.train = \"pairs:FILE\""
};
/// Throws Error(usage) naming all three when the samples are those of a data set and lack it.
void require_field(std::string_view model, const Samples& samples, const NeededField& needed);

/// A class for each target, or the usual number.
std::int64_t classes(const Samples& samples, std::int64_t usual);
/// What the last layer of a model that answers once per sample gives: a logit for each class, or
/// the numbers to predict.
std::int64_t answers(const Samples& samples, std::int64_t usual_classes);
/// Tokens that inputs are made of: what the samples say, or the model's own option.
std::int64_t input_vocabulary(const Samples& samples, std::int64_t usual);

/// The outputs "logits", "correct" and, with more than five classes of samples, "correct_top5"; and
/// cross entropy as the loss.
void classify(GraphBuilder& b, const TaskInputs& inputs, TensorId logits);
/// The end of a model with answers(): classify(); or the outputs "prediction" and "absolute_error"
/// (the weighted sum over samples of their mean |prediction - target|) and the mean error as the
/// loss. `loss` is the model's option, a Penalty. Throws Error(usage) when it is not one, or is not
/// the default where targets are classes.
void finish_task(GraphBuilder& b, const TaskInputs& inputs, TensorId answer,
                 const LossOption& loss);

/// Throws Error(usage) unless the heads divide the width.
void require_heads(std::string_view model, std::int64_t heads, std::int64_t width);

/// A size under a width or depth factor: rounded, at least 1.
std::int64_t scaled(std::int64_t size, double factor);

}  // namespace troika::zoo
