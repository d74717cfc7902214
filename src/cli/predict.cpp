#include "cli/predict.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/number_option.h"
#include "cli/predictions.h"
#include "cli/rank_seat.h"
#include "cli/saved_run.h"

namespace troika::cli {
namespace {

struct PredictArguments {
  std::string path;
  bool best = false;
  PredictRequest request;
};

void run(const PredictArguments& arguments, Context& context) {
  refuse_mpirun("predict");
  SavedRun saved = open_saved_run(arguments.path, arguments.best ? Pick::best : Pick::newest);
  predict(saved, arguments.request, context.console);
}

}  // namespace

Verb add_predict(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<PredictArguments>();  // shared by the parser and the verb
  CLI::App* app = parent.add_subcommand(
      "predict",
      "Classes of samples or numbers, translations, hidden tokens, or text from a language model");
  app->add_option("RUN", arguments->path, "A run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app->add_option("--data", arguments->request.uri,
                  "Samples instead of the run's test set, such as digits:test[0:5]; csv: needs no "
                  "target column, npy: no second file");
  app->add_option("--out", arguments->request.out,
                  "Write classes or numbers to FILE.csv or FILE.npy instead of printing them");
  app->add_option("--prompt", arguments->request.prompt,
                  "Text to continue, to classify, to translate, or to fill where it says [MASK]");
  take_whole(app->add_option("--tokens", arguments->request.tokens,
                             "How many tokens to continue a text with"))
      ->capture_default_str();
  take_number(app->add_option("--temperature", arguments->request.writing.temperature,
                              "0: always the most probable token; higher: more daring"),
              Zero::allowed)
      ->capture_default_str();
  app->add_option("--seed", arguments->request.writing.seed, "Another seed, another text")
      ->capture_default_str();
  app->add_flag("--best", arguments->best, "The run's best checkpoint instead of its newest");
  app->add_flag("--json", arguments->request.json, "Print JSON");
  app->footer(
      "Example:\n  troika predict runs/digits --data 'digits:test[0:5]'\n"
      "  troika predict runs/concrete --data csv:mixtures.csv --out strengths.csv\n"
      "  troika predict runs/tale --prompt 'Once upon' --tokens 300 --temperature 0.8");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
