#include "cli/predict.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/rank_seat.h"
#include "cli/saved_run.h"
#include "train/predict.h"

namespace troika::cli {
namespace {

struct PredictArguments {
  std::string path;
  std::string uri;
  std::string prompt;
  std::int64_t tokens = 200;
  WritingOptions writing;
  bool best = false;
  bool json = false;
};

bool writes_text(const data::Dataset& dataset) {
  std::span<const data::Field> fields = dataset.fields();
  auto target = std::ranges::find(fields, "target", &data::Field::name);
  return target != fields.end() && target->spec.shape.rank() == 1;
}

void print_prediction(const Prediction& prediction, const PredictArguments& arguments,
                      Console& console) {
  if (arguments.json)
    return console.print(nlohmann::ordered_json{
        {"index", prediction.index},
        {"predicted", prediction.predicted},
        {"probability", prediction.probability},
        {"target",
         prediction.target}}.dump());
  console.print(fmt::format("{:>8} {:>10} {:>12.4f} {:>7}{}", prediction.index,
                            prediction.predicted, prediction.probability, prediction.target,
                            prediction.predicted == prediction.target ? "" : "  wrong"));
}

void classify(SavedRun& run, const PredictArguments& arguments, Console& console) {
  TrainingSets sets = open_fitting_sets(run, arguments.uri);
  std::int64_t batch = std::min(run.config.train.global_batch, sets.test->size());
  LiveModel live(make_machinery(run.config.kernels, run.config.parallel));
  add_prediction(live, build_saved(run, *sets.train, batch).train());
  live.start();
  load_saved(run, live);
  if (!arguments.json) console.print("   index  predicted  probability  target");
  predict_classes(live, *sets.test, batch, [&](const Prediction& prediction) {
    print_prediction(prediction, arguments, console);
  });
}

/// Text becomes tokens by the vocabulary; without one the prompt is token numbers.
std::vector<std::int32_t> encode_prompt(const std::string& prompt, const data::Dataset& train) {
  if (const data::Vocabulary* vocabulary = train.vocabulary()) {
    if (!prompt.empty()) return vocabulary->encode(prompt);
    return {std::max<std::int32_t>(vocabulary->token(U'\n'), 0)};
  }
  std::istringstream words(prompt.empty() ? "0" : prompt);
  std::vector<std::int32_t> tokens;
  for (std::int64_t token = 0; words >> token;) {
    if (token < 0 || token >= train.classes()) break;
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  if (!words.eof() || tokens.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "the model was trained on token files, which have no characters; give --prompt as "
            "numbers from 0 to {}, such as \"12 7 300\"",
            train.classes() - 1));
  return tokens;
}

void write_text(const SavedRun& run, const data::Dataset& train, const PredictArguments& arguments,
                Console& console) {
  LiveModel live(make_machinery(run.config.kernels, run.config.parallel));
  add_prediction(live, build_saved(run, train, 1).train());
  live.start();
  load_saved(run, live);
  TokenWriter writer(live, encode_prompt(arguments.prompt, train), arguments.writing);
  const data::Vocabulary* vocabulary = train.vocabulary();
  auto as_text = [&](std::int32_t token) {
    return vocabulary != nullptr ? vocabulary->decode(std::span(&token, 1))
                                 : fmt::format(" {}", token);
  };
  std::string text;
  if (!arguments.json) console.write(arguments.prompt);
  for (std::int64_t count = 0; count < arguments.tokens; ++count) {
    text += as_text(writer.next());
    if (!arguments.json) console.write(text), text.clear();
  }
  console.print(arguments.json
                    ? nlohmann::ordered_json{{"prompt", arguments.prompt}, {"text", text}}.dump()
                    : "");
}

void run(const PredictArguments& arguments, Context& context) {
  refuse_mpirun("predict");
  SavedRun saved = open_saved_run(arguments.path, arguments.best ? Pick::best : Pick::newest);
  RunConfig train_only = saved.config;
  train_only.data.test.clear();
  train_only.data.augment.clear();
  TrainingSets sets = open_sets(train_only);
  if (writes_text(*sets.train)) return write_text(saved, *sets.train, arguments, context.console);
  if (!arguments.prompt.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{} is no language model, so --prompt means nothing to it; name samples with --data",
            arguments.path));
  classify(saved, arguments, context.console);
}

}  // namespace

Verb add_predict(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<PredictArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("predict", "Classes of samples, or text from a language model");
  app->add_option("RUN", arguments->path, "A run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app->add_option("--data", arguments->uri,
                  "Samples to classify instead of the run's test set, such as digits:test[0:5]");
  app->add_option("--prompt", arguments->prompt, "Text that a language model goes on with");
  app->add_option("--tokens", arguments->tokens, "How many tokens to write")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--temperature", arguments->writing.temperature,
                  "0: always the most probable token; higher: more daring")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app->add_option("--seed", arguments->writing.seed, "Another seed, another text")
      ->capture_default_str();
  app->add_flag("--best", arguments->best, "The run's best checkpoint instead of its newest");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Example:\n  troika predict runs/digits --data 'digits:test[0:5]'\n"
      "  troika predict runs/tale --prompt 'Once upon' --tokens 300 --temperature 0.8");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
