#include "cli/eval.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/rank_seat.h"
#include "cli/saved_run.h"
#include "cli/text_table.h"
#include "train/evaluate.h"

namespace troika::cli {
namespace {

struct EvalArguments {
  std::string path;
  std::string uri;
  bool best = false;
  bool json = false;
};

Evaluation evaluate_saved(SavedRun& run, const std::string& uri) {
  std::unique_ptr<data::Dataset> samples = open_samples(run, uri);
  std::int64_t batch = std::min(run.config.train.global_batch, samples->size());
  LiveModel live(set_up_runtime(run.config.kernels, run.config.parallel));
  live.add_forward(evaluation_program(build_saved(run, batch).train()));
  live.start();
  load_saved(run, live);
  return evaluate(live, *samples, batch, run.config.kernels.dtype);
}

Metric test_metric(const Figure& figure) { return {Metric::Set::test, figure.measure}; }

void print_json(const SavedRun& run, const Evaluation& result, Console& console) {
  nlohmann::ordered_json json{{"checkpoint", run.checkpoint.string()},
                              {"step", run.step},
                              {"data", run.config.data.test},
                              {"samples", result.samples}};
  for (const Figure& figure : result.figures)
    json[std::string(to_word(test_metric(figure)))] = figure.value;
  console.print(json.dump());
}

void print_text(const SavedRun& run, const Evaluation& result, Console& console) {
  std::vector<Fact> facts{
      {"checkpoint", run.checkpoint.string()},
      {"data", fmt::format("{} ({} samples)", run.config.data.test, with_commas(result.samples))}};
  for (const Figure& figure : result.figures)
    facts.push_back({std::string(to_word(test_metric(figure))), figure_text(figure)});
  console.write(format_facts(facts));
}

void run(const EvalArguments& arguments, Context& context) {
  refuse_mpirun("eval");
  SavedRun saved = open_saved_run(arguments.path, arguments.best ? Pick::best : Pick::newest);
  Evaluation result = evaluate_saved(saved, arguments.uri);
  arguments.json ? print_json(saved, result, context.console)
                 : print_text(saved, result, context.console);
}

}  // namespace

Verb add_eval(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<EvalArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("eval", "Loss, accuracy and other figures of a saved model");
  app->add_option("RUN", arguments->path, "A run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app->add_option("--data", arguments->uri,
                  "Samples instead of the run's test set, such as digits:test[0:500]");
  app->add_flag("--best", arguments->best, "The run's best checkpoint instead of its newest");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer("Example:\n  troika eval runs/digits --data 'digits:test?seed=7'");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
