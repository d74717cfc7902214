#include "train/translate.h"

#include <algorithm>
#include <utility>

#include "data/loader.h"
#include "train/predict.h"

namespace troika {
namespace {

using data::WordVocabulary;

/// Decodes a batch. Each run of the program adds one word to the decoder's input.
class Decoder {
 public:
  Decoder(LiveModel& live, const data::Batch& batch)
      : live_(live),
        batch_(batch),
        rows_(static_cast<std::size_t>(batch["input"].spec().shape[0])),
        length_(static_cast<std::size_t>(batch["input"].spec().shape[1])),
        input_(rows_ * length_, WordVocabulary::kPadding),
        words_(rows_) {
    for (std::size_t row = 0; row < rows_; ++row) input_[row * length_] = WordVocabulary::kBegin;
  }

  /// Returns the words of each row.
  std::vector<std::vector<std::int32_t>> run() {
    std::vector<bool> ended(rows_);
    // Greedy decoding: the most probable word at each position. The whole decoder runs again for
    // each word, because a program has fixed shapes; positions after `at` are padding, which a
    // causal decoder does not look at.
    for (std::size_t at = 0; at < length_ && std::ranges::count(ended, false) > 0; ++at) {
      write_inputs();
      live_.run(kPredictProgram);
      PredictOutput logits = read_predict_output(live_.session());
      for (std::size_t row = 0; row < rows_; ++row) {
        if (ended[row]) continue;
        // logits: [rows, length, vocabulary].
        auto word = static_cast<std::int32_t>(index_of_largest(logits.row(row * length_ + at)));
        ended[row] = word == WordVocabulary::kEnd;
        if (!ended[row]) words_[row].push_back(word);
        if (at + 1 < length_) input_[row * length_ + at + 1] = word;
      }
    }
    return std::move(words_);
  }

 private:
  /// Writes all inputs before each run, because a run may reuse the memory of its inputs.
  void write_inputs() {
    for (const data::HostField& field : batch_.fields) {
      bool grown = field.name() == "input";
      live_.session().write_input(kPredictProgram, field.name(),
                                  grown ? std::as_bytes(std::span(input_)) : field.bytes());
    }
  }

  LiveModel& live_;
  const data::Batch& batch_;
  std::size_t rows_;
  std::size_t length_;
  std::vector<std::int32_t> input_;
  std::vector<std::vector<std::int32_t>> words_;
};

}  // namespace

void translate(LiveModel& live, const data::Dataset& dataset, std::int64_t batch,
               const std::function<void(const Translation&)>& visit) {
  DType floating = predict_output_spec(live.session()).dtype;
  data::Loader loader(dataset,
                      {.batch = batch, .purpose = data::Purpose::evaluate, .floating = floating});
  std::int64_t index = 0;
  while (const data::Batch* next = loader.next()) {
    auto length = static_cast<std::size_t>((*next)["target"].spec().shape[1]);
    std::vector<std::vector<std::int32_t>> words = Decoder(live, *next).run();
    std::span<const std::int32_t> targets = (*next)["target"].as<std::int32_t>();
    for (std::size_t row = 0; row < static_cast<std::size_t>(next->samples); ++row, ++index) {
      auto target = targets.subspan(row * length, length);
      visit({index, std::move(words[row]), {target.begin(), target.end()}});
    }
  }
}

}  // namespace troika
