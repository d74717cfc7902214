// Using a trained model: the classes of samples, the numbers that a regression predicts, and the
// tokens that a language model continues with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"
#include "setup/live_model.h"

namespace troika {

inline constexpr const char* kPredictProgram = "predict";

/// Adds the program to the model; `graph` has the batch of the calls below. Throws Error(usage)
/// when the model has neither logits nor a prediction.
void add_prediction(LiveModel& live, const Graph& graph);

/// What the last run of the program gave: logits [n, classes] or [n, t, vocabulary], or the
/// predicted numbers [n, k].
struct PredictOutput {
  Shape shape;
  std::vector<double> values;  ///< Row-major.

  /// Of row number `row` over all dimensions but the last.
  std::span<const double> row(std::size_t row) const {
    auto width = static_cast<std::size_t>(shape.back());
    return std::span(values).subspan(row * width, width);
  }
};
const TensorSpec& predict_output_spec(const Session& session);
PredictOutput read_predict_output(Session& session);
std::size_t index_of_largest(std::span<const double> values);

struct Prediction {
  std::int64_t index = 0;      ///< Of the sample in its data set.
  std::int32_t predicted = 0;  ///< The most probable class.
  double probability = 0;      ///< Of that class.
  std::int32_t target = 0;

  bool operator==(const Prediction&) const = default;
};

/// Every sample once, in order. Precondition: the data has one target per sample.
void predict_classes(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const Prediction&)>& visit);

/// What a regression says of a sample. The spans live as long as the call that hands them out.
struct NumberPrediction {
  std::int64_t index = 0;  ///< Of the sample in its data set.
  std::span<const double> predicted;
  std::span<const double> target;
};

/// The same for a model that predicts numbers, in the user's units.
void predict_numbers(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                     const std::function<void(const NumberPrediction&)>& visit);

struct WritingOptions {
  double temperature =
      1;  ///< PredictOutput are divided by it; at 0 the most probable token is taken.
  std::uint64_t seed = 1;
};

/// Writes on behind a prompt, token by token. The program has batch 1 and the model must be causal:
/// what stands behind the last token is padding that cannot change its logits. Borrows the model.
class TokenWriter {
 public:
  /// Precondition: the prompt is not empty and its tokens are below the vocabulary.
  TokenWriter(LiveModel& live, std::vector<std::int32_t> prompt, const WritingOptions& options);

  /// The next token, a function of (weights, prompt, options).
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

/// Probabilities of a row of logits.
std::vector<double> softmax_of(std::span<const double> logits, double temperature = 1);
/// The index where the running sum of the probabilities passes `uniform`, which is in [0, 1).
std::size_t draw_index(std::span<const double> probabilities, double uniform);

}  // namespace troika
