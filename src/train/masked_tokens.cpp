#include "train/masked_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "train/predict.h"

namespace troika {
namespace {

/// Leaves out the mask itself, which is the last token of the vocabulary.
std::size_t most_probable(std::span<const double> logits) {
  return index_of_largest(logits.first(logits.size() - 1));
}

}  // namespace

void predict_masked(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
                    const std::function<void(const MaskedToken&)>& visit) {
  std::int64_t first = 0;
  predict_batches(
      live, dataset, batch, [&](const data::Batch& samples, const PredictOutput& logits) {
        std::span<const std::int32_t> targets = samples["target"].as<std::int32_t>();
        std::vector<double> weights = as_doubles(samples["weight"]);
        // logits: [samples, length, vocabulary]; weights and targets: [samples, length].
        auto length = static_cast<std::size_t>(logits.shape[1]);
        for (std::size_t at = 0; at < weights.size(); ++at) {
          if (weights[at] == 0) continue;  // not masked, or padding
          std::size_t best = most_probable(logits.row(at));
          visit({first + static_cast<std::int64_t>(at / length),
                 static_cast<std::int64_t>(at % length), static_cast<std::int32_t>(best),
                 softmax_of(logits.row(at))[best], targets[at]});
        }
        first += samples.samples;
      });
}

std::vector<std::int32_t> fill_masks(LiveModel& live, std::vector<std::int32_t> tokens,
                                     std::int32_t mask) {
  Session& session = live.session();
  TensorSpec spec = predict_output_spec(session);
  auto context = static_cast<std::size_t>(spec.shape[1]);
  TROIKA_CHECK(tokens.size() <= context);
  std::vector<std::int32_t> input = tokens;
  input.resize(context);
  session.write_input(kPredictProgram, "input", std::as_bytes(std::span(input)));
  // Unlike a causal model, this one looks at all positions, so padding must be masked.
  dispatch(spec.dtype, [&]<class T>() {
    std::vector<T> seen(context);
    std::fill_n(seen.begin(), tokens.size(), T{1});
    session.write_input(kPredictProgram, "mask", std::as_bytes(std::span(seen)));
  });
  live.run(kPredictProgram);
  PredictOutput logits = read_predict_output(session);
  for (std::size_t at = 0; at < tokens.size(); ++at)
    if (tokens[at] == mask) tokens[at] = static_cast<std::int32_t>(most_probable(logits.row(at)));
  return tokens;
}

}  // namespace troika
