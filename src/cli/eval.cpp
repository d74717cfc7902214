// `troika eval`: loss, accuracy and other figures of a saved model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/rank_seat.h"
#include "cli/saved_run.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "train/evaluate.h"

namespace troika::cli {
namespace {

struct EvalArguments {
  std::string path;
  std::string uri;
  bool best = false;
  bool json = false;
};

struct SavedFigures {
  std::string data;  ///< The samples, by name.
  Metric::Set set;
  Evaluation result;
};

SavedFigures evaluate_saved(const SavedRun& run, const std::string& uri) {
  EvaluationSamples chosen = open_evaluation_samples(run, uri);
  std::int64_t batch = std::min(run.config.train.global_batch, chosen.samples->size());
  LiveModel live(set_up_runtime(run.config.kernels, run.config.parallel));
  const zoo::Model model = build_saved(run, batch);
  live.add_forward(evaluation_program(model.train()));
  live.start();
  load_saved(run, live);
  return {chosen.name, chosen.set,
          evaluate(live, {model.train(), *chosen.samples, batch, run.config.kernels.dtype})};
}

void print_json(const SavedRun& run, const SavedFigures& figures, Console& console) {
  nlohmann::ordered_json json{{"checkpoint", run.checkpoint.string()},
                              {"step", run.step},
                              {"data", figures.data},
                              {"samples", figures.result.samples}};
  for (const auto& [name, value] : named_figures(figures.set, figures.result.figures))
    json[name] = value;
  console.print(json.dump());
}

void print_text(const SavedRun& run, const SavedFigures& figures, Console& console) {
  std::string data =
      fmt::format("{} ({} samples)", figures.data, with_commas(figures.result.samples));
  if (figures.set == Metric::Set::validation)
    data += ", the validation set, because the run has no test set";
  std::vector<Fact> facts{{"checkpoint", run.checkpoint.string()}, {"data", data}};
  for (const Figure& figure : figures.result.figures)
    facts.push_back(
        {std::string(to_word(Metric{figures.set, figure.measure})), figure_text(figure)});
  console.write(format_facts(facts));
}

void run(const EvalArguments& arguments, Context& context) {
  refuse_mpirun("eval");
  SavedRun saved = open_saved_run(arguments.path, arguments.best ? Pick::best : Pick::newest);
  SavedFigures figures = evaluate_saved(saved, arguments.uri);
  arguments.json ? print_json(saved, figures, context.console)
                 : print_text(saved, figures, context.console);
}

}  // namespace

Verb add_eval(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<EvalArguments>();  // shared by the parser and the verb
  CLI::App* app =
      parent.add_subcommand("eval", "Evaluate a saved model: loss, accuracy and other metrics");
  app->add_option("RUN", arguments->path, "A run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app->add_option(
      "--data", arguments->uri,
      "Evaluate these samples, such as digits:test[0:500]; default: the run's test set, or its "
      "validation set if it has no test set");
  app->add_flag("--best", arguments->best, "Take the best checkpoint instead of the newest");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer("Example:\n  troika eval runs/digits --data 'digits:test?seed=7'");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
