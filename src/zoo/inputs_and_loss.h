// The inputs and the loss of a training graph, and the sizes that follow from the data. Shared by
// the models of the zoo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/builder.h"
#include "zoo/model.h"

namespace troika::zoo {

struct TrainingInputs {
  TensorId input;
  TensorId target;  ///< i32 [n], or i32 [n,t] for one target per token, or floats [n,k].
  TensorId weight;  ///< Per target; per sample if targets are floats.
};

/// [batch, sample…]
Shape batched(std::int64_t batch, const Shape& sample);
/// Returns the shape of the samples' "input", or `usual` without samples. Throws Error(usage) if
/// the input is tokens.
Shape input_shape(std::string_view model, const Samples& samples, const Shape& usual);
/// The same for images [c,h,w]. Throws Error(usage) unless they have at least `smallest` rows and
/// columns.
Shape image_shape(std::string_view model, const Samples& samples, const Shape& usual,
                  std::int64_t smallest = 1);

/// Adds "input" [n, …] of floats, "target" i32 [n] or, for regression, floats [n,k], and "weight"
/// [n]. Must be called before any operator is added.
TrainingInputs float_inputs(GraphBuilder& b, const Samples& samples, const Shape& input);
enum class TargetPer { token, sample };
/// Requirements of a model of token sequences on its data.
struct TokenModel {
  std::string_view model;
  std::int64_t usual_length = 0;
  TargetPer target = TargetPer::token;
  bool reads_source = false;  ///< Also reads the text "source".
};
/// Adds "input" i32 [n,t], "target" i32 and "weight" [n,t] or [n]. Must be called before any
/// operator is added. Throws Error(usage) if the samples do not fit, and names a data source that
/// does.
TrainingInputs token_inputs(GraphBuilder& b, const Samples& samples, const TokenModel& model);
/// Returns the tokens per sample of the field "input", or `usual` without samples.
std::int64_t sequence_length(std::string_view model, const Samples& samples, std::int64_t usual);

/// Adds an input if the samples have a field of that name.
std::optional<TensorId> optional_input(GraphBuilder& b, const Samples& samples,
                                       const std::string& name, const TensorSpec& spec);

/// An input that samples must have, and a data source that has it.
struct NeededField {
  std::string_view name;
  std::string_view source;  ///< "pairs of texts: data.train = \"pairs:FILE\""
};
/// Throws Error(usage) that names all three if a data set lacks the field.
void require_field(std::string_view model, const Samples& samples, const NeededField& needed);

/// Returns the number of classes, or `usual` without samples.
std::int64_t classes(const Samples& samples, std::int64_t usual);
/// Returns the width of the last layer of a model with one answer per sample: the classes, or the
/// numbers to predict.
std::int64_t answers(const Samples& samples, std::int64_t usual_classes);
/// Returns the vocabulary of the inputs, or `usual` if the samples do not give one.
std::int64_t input_vocabulary(const Samples& samples, std::int64_t usual);

/// Adds the outputs "logits", "correct" and, for one target per sample with more than five classes,
/// "correct_top5"; and cross entropy as the loss.
void classify(GraphBuilder& b, const TrainingInputs& inputs, TensorId logits);
/// Ends a model with answers() outputs. If targets are classes, calls classify(). Otherwise adds
/// the outputs "prediction" and "absolute_error" (the weighted sum over samples of their mean
/// |prediction - target|) and the mean error as the loss. `loss` is the model's option, a Penalty.
/// Throws Error(usage) if it is not one, or is not the default although targets are classes.
void add_loss(GraphBuilder& b, const TrainingInputs& inputs, TensorId answer,
              const LossOption& loss);

/// Throws Error(usage) unless `heads` divides `width`.
void require_heads(std::string_view model, std::int64_t heads, std::int64_t width);

/// Returns size * factor, rounded, at least 1.
std::int64_t scaled(std::int64_t size, double factor);

}  // namespace troika::zoo
