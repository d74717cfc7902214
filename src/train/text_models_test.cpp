// Text models learn from their data sets.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "train/masked_tokens.h"
#include "train/predict.h"
#include "train/small_runs_test.h"
#include "train/translate.h"

namespace troika {
namespace {

RandomStream draws() { return {.key = 17}; }

/// Sentences of 2 to 5 words from a vocabulary of 8, paired with the same words backwards.
std::string reversed_sentences(int count) {
  RandomStream random = draws();
  std::string text;
  for (std::uint64_t line = 0; line < static_cast<std::uint64_t>(count); ++line) {
    std::string forward, backward;
    std::uint64_t words = 2 + random.below(line * 8, 4);
    for (std::uint64_t at = 0; at < words; ++at) {
      std::string word(1, static_cast<char>('a' + random.below(line * 8 + 1 + at, 8)));
      forward += (forward.empty() ? "" : " ") + word;
      backward = word + (backward.empty() ? "" : " ") + backward;
    }
    text += forward + "\t" + backward + "\n";
  }
  return text;
}

/// Lines labelled by whether "good" or "bad" occurs among neutral words.
std::string opinions(int count) {
  RandomStream random = draws();
  const char* fillers[] = {"the", "film", "was", "so", "rather", "very"};
  std::string text;
  for (std::uint64_t line = 0; line < static_cast<std::uint64_t>(count); ++line) {
    bool good = random.below(line * 16, 2) == 0;
    std::uint64_t words = 2 + random.below(line * 16 + 1, 6),
                  at = random.below(line * 16 + 2, words);
    text += good ? "liked\t" : "loathed\t";
    for (std::uint64_t word = 0; word < words; ++word)
      text += std::string(word == at ? (good ? "good" : "bad")
                                     : fillers[random.below(line * 16 + 3 + word, 6)]) +
              " ";
    text += "\n";
  }
  return text;
}

struct TextRun {
  std::string model;  ///< Its name and options, as in a run file.
  std::string scheme;
  std::string content;
  int epochs = 10;
  std::vector<std::string> overrides{};
};

/// The last quarter is the test set, except for a running text, which has no lines.
RunConfig text_run(const Folder& folder, const TextRun& run) {
  fs::path file = folder.path / "data.txt";
  std::ofstream(file, std::ios::binary) << run.content;
  auto lines = std::ranges::count(run.content, '\n');
  std::string name = run.scheme + ":" + file.string();
  std::string cut = std::to_string(lines * 3 / 4);
  bool running = lines == 0;
  std::string toml = "[model]\n" + run.model + "\n[data]\ntrain = \"" + name +
                     (running ? "" : "[0:" + cut + "]") + "\"\ntest = \"" + name +
                     (running ? "" : "[" + cut + ":]") + "\"\n" +
                     "[train]\nglobal_batch = 32\nepochs = " + std::to_string(run.epochs) +
                     "\nevaluate = \"" + std::to_string(run.epochs) +
                     " epochs\"\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.01\n"
                     "[parallel]\nthreads = 1\n";
  return parse_run(toml, "text.toml", run.overrides).config;
}

const TextRun kReversal{"name = \"nmt\"\nlayers = 1\nwidth = 32\ndropout = 0", "pairs", "", 12};
const TextRun kOpinions{"name = \"rnntc\"\nhidden = 16", "labelled", "", 6};
const TextRun kFilling{
    "name = \"bert\"\nlayers = 1\nwidth = 32\nheads = 2\ndropout = 0",
    "text",
    "",
    130,
    {"data.sequence=32", "train.global_batch=16", "optimizer.learning_rate=0.003"}};

TextRun with_text(TextRun run, std::string content) {
  run.content = std::move(content);
  return run;
}

double trained_accuracy(TrainingRun& training) {
  training.initialize();
  return training.run(nullptr).value_of({Metric::Set::test, Metric::Measure::accuracy}).value();
}

/// Loads the trained weights into a program that predicts batches of this size.
std::unique_ptr<LiveModel> predictor(TrainingRun& training, const RunConfig& config,
                                     const data::Encoding& encoding, std::int64_t batch) {
  zoo::Model model = build_model(config.model, samples_of(encoding, config, batch));
  auto live = std::make_unique<LiveModel>(set_up_runtime(config.kernels, config.parallel));
  add_prediction(*live, model.train());
  live->start();
  for (const StateEntry& entry : live->session().state()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.spec.bytes().count));
    training.live().session().store(entry.name, bytes);
    live->session().load(entry.name, bytes);
  }
  return live;
}

TEST(TextModels, NmtLearnsToReverseSentencesAndWritesThem) {
  Folder folder;
  RunConfig config = text_run(folder, with_text(kReversal, reversed_sentences(1200)));
  auto training = make_training(config);
  EXPECT_GT(trained_accuracy(*training), 0.9);  // the most frequent token alone would give 0.25
  auto test = open_sets(config).test;
  auto live = predictor(*training, config, test->encoding(), 32);
  const data::WordVocabulary& words = *test->encoding().target_words;
  int count = 0, right = 0;
  translate(*live, *test, 32, [&](const Translation& found) {
    EXPECT_EQ(found.index, count++);
    right += words.decode(found.tokens) == words.decode(found.target);
  });
  EXPECT_EQ(count, 300);
  EXPECT_GT(right, 225);  // a guess at a sentence is right once in hundreds
}

TEST(TextModels, RnntcLearnsWhichWordDecides) {
  Folder folder;
  RunConfig config = text_run(folder, with_text(kOpinions, opinions(400)));
  EXPECT_GT(trained_accuracy(*make_training(config)), 0.95);  // chance: 0.5
}

TEST(TextModels, BertClassifiesTextsToo) {
  Folder folder;
  TextRun run = with_text(kFilling, opinions(400));
  run.scheme = "labelled";
  run.epochs = 6;
  EXPECT_GT(trained_accuracy(*make_training(text_run(folder, run))), 0.95);  // chance: 0.5
}

TEST(TextModels, BertLearnsToFillInWhatIsHidden) {
  Folder folder;
  RunConfig config = text_run(folder, with_text(kFilling, rhyme()));
  auto training = make_training(config);
  double accuracy = trained_accuracy(*training);
  EXPECT_GT(accuracy, 0.7);  // the most frequent character would give 0.2
  auto test = open_sets(config).test;
  auto live = predictor(*training, config, test->encoding(), 32);
  double asked = 0, right = 0;
  predict_masked(*live, *test, 32, [&](const MaskedToken& found) {
    asked += 1;
    right += found.predicted == found.target;
  });
  EXPECT_NEAR(right / asked, accuracy, 0.02);

  // A prompt that is shorter than the model's context.
  data::Encoding encoding = test->encoding();
  encoding.fields.push_back({"mask", {{32}, DType::f32}});
  auto filler = predictor(*training, config, encoding, 1);
  auto mask = static_cast<std::int32_t>(encoding.characters->size());
  std::vector<std::int32_t> prompt = encoding.characters->encode("own fox jumps over");
  std::vector<std::int32_t> hidden = prompt;
  hidden[10] = mask;
  std::vector<std::int32_t> filled = fill_masks(*filler, hidden, mask);
  EXPECT_LT(filled[10], mask);
  filled[10] = prompt[10];
  EXPECT_EQ(filled, prompt);
}

TEST(TextModels, GetTheAnswerOfOneDeviceOnTwo) {
  for (const TextRun& run : {with_text(kReversal, reversed_sentences(100)),
                             with_text(kOpinions, opinions(100)), with_text(kFilling, rhyme())}) {
    Folder folder;
    TextRun few = run;
    few.overrides.insert(few.overrides.end(), {"train.steps=3", "train.evaluate=never",
                                               "kernels.backend=reference", "kernels.dtype=f64"});
    auto one = make_training(text_run(folder, few));
    few.overrides.insert(few.overrides.end(), {"parallel.devices=2", "parallel.plan=data"});
    auto two = make_training(text_run(folder, few));
    for (TrainingRun* training : {one.get(), two.get()}) training->initialize();
    EXPECT_NEAR(one->run(nullptr).loss.value(), two->run(nullptr).loss.value(), 1e-10) << run.model;
  }
}

}  // namespace
}  // namespace troika
