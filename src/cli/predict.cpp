// `troika predict`: classes, numbers or text from a saved model.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "cli/checked_option.h"
#include "cli/predictions.h"
#include "cli/rank_seat.h"
#include "cli/saved_run.h"
#include "cli/verb.h"

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
      "predict", "Predict classes, numbers, translations or masked tokens, or generate text");
  app->add_option("RUN", arguments->path, "A run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app->add_option(
      "--data", arguments->request.uri,
      "Predict these samples, such as digits:test[0:5]; default: the run's test set. csv: "
      "needs no target column, npy: no labels");
  app->add_option("--out", arguments->request.out,
                  "Write classes or numbers to FILE.csv or FILE.npy instead of printing them");
  app->add_option("--prompt", arguments->request.prompt,
                  "Text to continue, classify or translate, or with [MASK] in it to fill in");
  take_whole(app->add_option("--tokens", arguments->request.tokens, "Number of tokens to generate"))
      ->capture_default_str();
  take_number(app->add_option("--temperature", arguments->request.writing.temperature,
                              "0 always takes the most probable token, higher values vary more"),
              Zero::allowed)
      ->capture_default_str();
  take_whole(app->add_option("--seed", arguments->request.writing.seed, "Seed for sampling tokens"),
             {.least = 0, .most = std::numeric_limits<std::int64_t>::max()})
      ->capture_default_str();
  app->add_flag("--best", arguments->best, "Take the best checkpoint instead of the newest");
  app->add_flag("--json", arguments->request.json, "Print JSON");
  app->footer(
      "Example:\n  troika predict runs/digits --data 'digits:test[0:5]'\n"
      "  troika predict runs/concrete --data csv:mixtures.csv --out strengths.csv\n"
      "  troika predict runs/tale --prompt 'Once upon' --tokens 300 --temperature 0.8");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
