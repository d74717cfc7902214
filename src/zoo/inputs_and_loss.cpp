#include "zoo/inputs_and_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "zoo/options.h"

namespace troika::zoo {
namespace {

TrainingInputs add_inputs(GraphBuilder& b, const Samples& samples, const TensorSpec& input,
                          const Shape& target) {
  TrainingInputs inputs;
  inputs.input = b.input("input", input);
  inputs.target = b.input("target", {target, DType::i32});
  inputs.weight = b.input("weight", {target, samples.dtype});
  return inputs;
}

/// Returns the field with the numbers to predict, or null if targets are classes.
const Field* numbers_to_predict(const Samples& samples) {
  const Field* target = samples.find("target");
  return target != nullptr && target->spec.dtype != DType::i32 ? target : nullptr;
}

void check_targets(const Samples& samples, const TokenModel& model) {
  // Such data also has "input" and "target", so the model would train and silently ignore the
  // source.
  if (samples.find("source") != nullptr && !model.reads_source)
    throw Error(ErrorKind::usage,
                fmt::format("model '{}' reads one text, but the data has pairs of a 'source' and a "
                            "target; choose the model 'nmt' or other data",
                            model.model));
  const Field* target = samples.find("target");
  if (target == nullptr) return;
  bool per_token = model.target == TargetPer::token;
  // A field has no batch dimension: rank 0 is one target per sample.
  if (target->spec.shape.rank() == (per_token ? 1 : 0)) return;
  throw Error(ErrorKind::usage,
              fmt::format("model '{}' takes one target per {}, but the data's 'target' is {}; give "
                          "it {}",
                          model.model, per_token ? "token" : "text", to_string(target->spec),
                          per_token ? "a running text: text:FILE or tokens:FILE"
                                    : "labelled texts: labelled:FILE"));
}

}  // namespace

Shape batched(std::int64_t batch, const Shape& sample) {
  Shape shape{batch};
  for (std::int64_t extent : sample) shape.push_back(extent);
  return shape;
}

const Field* Samples::find(std::string_view name) const {
  auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

Shape input_shape(std::string_view model, const Samples& samples, const Shape& usual) {
  const Field* input = samples.find("input");
  if (!input) return usual;
  if (input->spec.dtype == DType::i32)
    throw Error(
        ErrorKind::usage,
        fmt::format("model '{}' takes numbers such as pixels, but the data's 'input' is {}: "
                    "tokens; choose a language model or other data",
                    model, to_string(input->spec)));
  return input->spec.shape;
}

Shape image_shape(std::string_view model, const Samples& samples, const Shape& usual,
                  std::int64_t smallest) {
  Shape shape = input_shape(model, samples, usual);
  if (shape.rank() != 3)
    throw Error(
        ErrorKind::usage,
        fmt::format("model '{}' takes images [c,h,w], but the data's 'input' is {}; choose the "
                    "model 'mlp' or other data",
                    model, to_string(shape)));
  if (std::min(shape[1], shape[2]) < smallest)
    throw Error(
        ErrorKind::usage,
        fmt::format("model '{}' takes images of at least {} x {} pixels, but the data has {}; "
                    "choose a smaller model or larger images",
                    model, smallest, smallest, to_string(shape)));
  return shape;
}

TrainingInputs float_inputs(GraphBuilder& b, const Samples& samples, const Shape& input) {
  TensorSpec pixels{batched(samples.batch, input), samples.dtype};
  // Classes have one weight per target; numbers have one per sample, whatever their count.
  const Field* numbers = numbers_to_predict(samples);
  if (numbers == nullptr) return add_inputs(b, samples, pixels, {samples.batch});
  TrainingInputs inputs;
  inputs.input = b.input("input", pixels);
  inputs.target = b.input("target", {batched(samples.batch, numbers->spec.shape), samples.dtype});
  inputs.weight = b.input("weight", {{samples.batch}, samples.dtype});
  return inputs;
}

TrainingInputs token_inputs(GraphBuilder& b, const Samples& samples, const TokenModel& model) {
  Shape tokens{samples.batch, sequence_length(model.model, samples, model.usual_length)};
  check_targets(samples, model);
  return add_inputs(b, samples, {tokens, DType::i32},
                    model.target == TargetPer::token ? tokens : Shape{samples.batch});
}

std::int64_t sequence_length(std::string_view model, const Samples& samples, std::int64_t usual) {
  const Field* input = samples.find("input");
  if (!input) return usual;
  if (input->spec.dtype != DType::i32 || input->spec.shape.rank() != 1)
    throw Error(ErrorKind::usage,
                fmt::format("model '{}' takes tokens i32[t], but the data's 'input' is {}; choose "
                            "another model or text:FILE",
                            model, to_string(input->spec)));
  return input->spec.shape[0];
}

std::optional<TensorId> optional_input(GraphBuilder& b, const Samples& samples,
                                       const std::string& name, const TensorSpec& spec) {
  if (!samples.find(name)) return std::nullopt;
  return b.input(name, spec);
}

void require_field(std::string_view model, const Samples& samples, const NeededField& needed) {
  // Samples without targets come from a benchmark or a test, which only give sizes.
  if (samples.find("target") == nullptr || samples.find(needed.name) != nullptr) return;
  std::string names;
  for (const Field& field : samples.fields) names += (names.empty() ? "" : ", ") + field.name;
  throw Error(ErrorKind::usage,
              fmt::format("model '{}' has an input '{}' that nothing feeds: the data has {}; give "
                          "it {}",
                          model, needed.name, names, needed.source));
}

std::int64_t classes(const Samples& samples, std::int64_t usual) {
  return samples.classes > 0 ? samples.classes : usual;
}

std::int64_t answers(const Samples& samples, std::int64_t usual_classes) {
  const Field* numbers = numbers_to_predict(samples);
  return numbers != nullptr ? numbers->spec.shape.elements() : classes(samples, usual_classes);
}

std::int64_t input_vocabulary(const Samples& samples, std::int64_t usual) {
  return samples.vocabulary > 0 ? samples.vocabulary : usual;
}

void classify(GraphBuilder& b, const TrainingInputs& inputs, TensorId logits) {
  b.output("logits", logits);
  const std::vector<TensorId> judged{logits, inputs.target, inputs.weight};
  b.output("correct", b.add("accuracy", Accuracy{}, judged));
  // As in the ImageNet challenge. Unusual for tokens, where it would double the cost of accuracy.
  constexpr std::int64_t kTop = 5;
  const Shape& shape = b.spec(logits).shape;
  if (shape.rank() == 2 && shape.back() > kTop)
    b.output("correct_top5", b.add("accuracy_top5", Accuracy{.top = kTop}, judged));
  b.loss("loss", CrossEntropy{}, {logits, inputs.target, inputs.weight});
}

void add_loss(GraphBuilder& b, const TrainingInputs& inputs, TensorId answer,
              const LossOption& loss) {
  // Parsed first, so that a misspelt option is reported for every kind of target.
  auto penalty = parse_choice<Penalty>({loss.model, "loss"}, loss.value);
  if (b.spec(inputs.target).dtype == DType::i32) {
    if (loss.value != LossOption::kDefault)
      throw Error(
          ErrorKind::usage,
          fmt::format("option 'loss' of model '{}' is for targets that are numbers, but the "
                      "data's are classes; remove it",
                      loss.model));
    return classify(b, inputs, answer);
  }
  std::vector<TensorId> compared{answer, inputs.target, inputs.weight};
  b.output("prediction", answer);
  // Only the first of the two sums: the sum of the weights is known from the loss.
  b.output("absolute_error",
           b.apply("absolute_error", MeanError{.penalty = Penalty::absolute}, compared).front());
  b.loss("loss", MeanError{.penalty = penalty}, compared);
}

void require_heads(std::string_view model, std::int64_t heads, std::int64_t width) {
  if (width % heads == 0) return;
  throw Error(ErrorKind::usage,
              fmt::format("model '{}' cannot share a width of {} between {} heads; choose a number "
                          "of heads that divides the width",
                          model, width, heads));
}

std::int64_t scaled(std::int64_t size, double factor) {
  // A small factor must not remove a layer.
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(size) * factor));
}

}  // namespace troika::zoo
