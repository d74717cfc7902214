#include "train/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "data/loader.h"

namespace troika {
namespace {

constexpr const char *kLogits = "logits", *kNumbers = "prediction";

const char* output_name(const Session& session) {
  return session.has_output(kPredictProgram, kLogits) ? kLogits : kNumbers;
}

std::vector<double> as_doubles(DType dtype, std::span<const std::byte> bytes) {
  return dispatch(dtype, [&]<class T>() {
    const T* values = reinterpret_cast<const T*>(bytes.data());
    return std::vector<double>(values, values + bytes.size() / sizeof(T));
  });
}

std::vector<double> in_users_units(std::span<const double> row, const data::Encoding& samples) {
  std::vector<double> numbers(row.begin(), row.end());
  if (samples.target_normalization) data::undo(*samples.target_normalization, numbers);
  return numbers;
}

}  // namespace

const TensorSpec& predict_output_spec(const Session& session) {
  const TaskGraph& program = session.program(kPredictProgram);
  return program[program.outputs.at(output_name(session))].spec;
}

PredictOutput read_predict_output(Session& session) {
  const TensorSpec& spec = predict_output_spec(session);
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes().count));
  session.read_output(kPredictProgram, output_name(session), bytes);
  return {spec.shape, as_doubles(spec.dtype, bytes)};
}

std::size_t index_of_largest(std::span<const double> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

std::vector<double> as_doubles(const data::HostField& field) {
  return as_doubles(field.spec().dtype, field.bytes());
}

void predict_batches(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const data::Batch&, const PredictOutput&)>& visit) {
  Session& session = live.session();
  // Inputs have the type of the outputs: a program computes in one floating type.
  data::Loader loader(dataset, {.batch = batch,
                                .purpose = data::Purpose::evaluate,
                                .floating = predict_output_spec(session).dtype,
                                .threads = live.setup().threads()});
  while (const data::Batch* next = loader.next()) {
    for (const data::HostField& field : next->fields)
      session.write_input(kPredictProgram, field.name(), field.bytes());
    live.run(kPredictProgram);
    visit(*next, read_predict_output(session));
  }
}

void add_prediction(LiveModel& live, const Graph& graph) {
  for (const char* name : {kLogits, kNumbers})
    if (std::ranges::count(graph.outputs, name, &NamedTensor::name) > 0)
      return live.add_forward({kPredictProgram, &graph, {name}});
  throw Error(
      ErrorKind::usage,
      fmt::format("model '{}' has neither an output 'logits' nor 'prediction', so it cannot "
                  "predict classes, numbers or text",
                  graph.name));
}

void predict_classes(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const Prediction&)>& visit) {
  std::int64_t index = 0;
  predict_batches(
      live, dataset, batch, [&](const data::Batch& samples, const PredictOutput& logits) {
        std::span<const std::int32_t> targets = samples["target"].as<std::int32_t>();
        // Rows from samples.samples on pad the last batch.
        for (std::size_t row = 0; row < static_cast<std::size_t>(samples.samples); ++row, ++index) {
          std::vector<double> shares = softmax_of(logits.row(row));
          std::size_t best = index_of_largest(shares);
          visit({index, static_cast<std::int32_t>(best), shares[best], targets[row]});
        }
      });
}

void predict_numbers(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const NumberPrediction&)>& visit) {
  std::int64_t index = 0;
  predict_batches(
      live, dataset, batch, [&](const data::Batch& samples, const PredictOutput& numbers) {
        const data::HostField& target = samples["target"];
        PredictOutput targets{target.spec().shape, as_doubles(target)};
        for (std::size_t row = 0; row < static_cast<std::size_t>(samples.samples); ++row, ++index) {
          std::vector<double> found = in_users_units(numbers.row(row), dataset.encoding()),
                              asked = in_users_units(targets.row(row), dataset.encoding());
          visit({index, found, asked});
        }
      });
}

TokenWriter::TokenWriter(LiveModel& live, std::vector<std::int32_t> prompt,
                         const WritingOptions& options)
    : live_(live),
      tokens_(std::move(prompt)),
      options_(options),
      random_{.key = options.seed, .stream = hash_text("predict")} {
  const Shape& shape = predict_output_spec(live.session()).shape;
  TROIKA_CHECK(shape.rank() == 3 && shape[0] == 1, "a language model of batch 1");
  TROIKA_CHECK(!tokens_.empty(), "the prompt is empty");
  context_ = static_cast<std::size_t>(shape[1]);
}

std::vector<double> TokenWriter::last_logits() {
  std::size_t seen = std::min(tokens_.size(), context_);
  std::vector<std::int32_t> input(tokens_.end() - static_cast<std::ptrdiff_t>(seen), tokens_.end());
  // Padding after the last token. A causal model does not look at it.
  input.resize(context_);
  Session& session = live_.session();
  session.write_input(kPredictProgram, "input", std::as_bytes(std::span(input)));
  live_.run(kPredictProgram);
  PredictOutput logits = read_predict_output(session);
  // logits: [1, context, vocabulary]; row t predicts the token after position t.
  std::span<const double> last = logits.row(seen - 1);
  return {last.begin(), last.end()};
}

std::int32_t TokenWriter::next() {
  std::vector<double> logits = last_logits();
  std::size_t token =
      options_.temperature == 0
          ? index_of_largest(logits)
          : draw_index(softmax_of(logits, options_.temperature), random_.uniform(drawn_++));
  // Tokens before the context are never read again. Cutting at twice its length keeps the cost of
  // moving the rest low.
  if (tokens_.size() > 2 * context_)
    tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<std::ptrdiff_t>(context_));
  tokens_.push_back(static_cast<std::int32_t>(token));
  return tokens_.back();
}

std::vector<double> softmax_of(std::span<const double> logits, double temperature) {
  // Subtracting the largest logit keeps exp() from overflowing.
  double largest = *std::ranges::max_element(logits), sum = 0;
  std::vector<double> shares;
  for (double logit : logits) sum += shares.emplace_back(std::exp((logit - largest) / temperature));
  for (double& share : shares) share /= sum;
  return shares;
}

std::size_t draw_index(std::span<const double> probabilities, double uniform) {
  double passed = 0;
  for (std::size_t at = 0; at < probabilities.size(); ++at) {
    passed += probabilities[at];
    if (uniform < passed) return at;
  }
  // Rounding may leave the sum just below 1.
  return index_of_largest(probabilities);
}

}  // namespace troika
