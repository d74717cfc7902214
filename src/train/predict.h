// Runs a trained model: predicts the classes of samples, the numbers of a regression, or the next
// tokens of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "setup/live_model.h"

namespace troika {

inline constexpr const char* kPredictProgram = "predict";

/// Adds the program to the model; `graph` has the batch size of the calls below. Throws
/// Error(usage) if the model has neither an output "logits" nor "prediction".
void add_prediction(LiveModel& live, const Graph& graph);

/// Output of the last run of the program: logits [n, classes] or [n, t, vocabulary], or predicted
/// numbers [n, k].
struct PredictOutput {
  Shape shape;
  std::vector<double> values;  ///< Row-major.

  /// Returns one row; rows are counted over all dimensions but the last.
  std::span<const double> row(std::size_t row) const {
    auto width = static_cast<std::size_t>(shape.back());
    return std::span(values).subspan(row * width, width);
  }
};
const TensorSpec& predict_output_spec(const Session& session);
PredictOutput read_predict_output(Session& session);
std::size_t index_of_largest(std::span<const double> values);
std::vector<double> as_doubles(const data::HostField& field);

/// Runs the program on every sample once, in order, and calls `visit` after each batch.
void predict_batches(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const data::Batch&, const PredictOutput&)>& visit);

struct Prediction {
  std::int64_t index = 0;      ///< Index of the sample in its data set.
  std::int32_t predicted = 0;  ///< The most probable class.
  double probability = 0;      ///< Probability of that class.
  std::int32_t target = 0;

  bool operator==(const Prediction&) const = default;
};

/// Calls `visit` for every sample, in order. Precondition: the data has one target per sample.
void predict_classes(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const Prediction&)>& visit);

/// Prediction of a regression for one sample. The spans are valid only during the call of `visit`.
struct NumberPrediction {
  std::int64_t index = 0;  ///< Index of the sample in its data set.
  std::span<const double> predicted;
  std::span<const double> target;
};

/// The same for a model that predicts numbers.
void predict_numbers(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const NumberPrediction&)>& visit);

struct WritingOptions {
  /// Logits are divided by it; 0 always takes the most probable token.
  double temperature = 1;
  std::uint64_t seed = 1;
};

/// Continues a prompt, token by token. The program has batch 1, and the model must be causal: the
/// input after the last token is padding, which must not change its logits. Borrows the model.
class TokenWriter {
 public:
  /// Precondition: the prompt is not empty and its tokens are below the vocabulary.
  TokenWriter(LiveModel& live, std::vector<std::int32_t> prompt, const WritingOptions& options);

  /// Returns the next token, a function of (weights, prompt, options).
  std::int32_t next();

 private:
  std::vector<double> last_logits();

  LiveModel& live_;
  std::vector<std::int32_t> tokens_;
  WritingOptions options_;
  RandomStream random_;
  std::uint64_t drawn_ = 0;
  std::size_t context_ = 0;  // tokens that the model sees at once
};

/// Returns the probabilities of a row of logits.
std::vector<double> softmax_of(std::span<const double> logits, double temperature = 1);
/// Returns the index at which the running sum of the probabilities exceeds `uniform`, in [0, 1).
std::size_t draw_index(std::span<const double> probabilities, double uniform);

}  // namespace troika
