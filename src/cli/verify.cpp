// `troika verify`: trains a few steps under several plans and compares the results.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/checked_option.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "config/load_run.h"
#include "verify/verify_plans.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyArguments {
  std::string file;
  std::vector<std::string> overrides;
  VerifyOptions options;
  std::string backend = "reference";
  bool json = false;
};

/// The first value beyond the tolerance, or the one that comes closest to it.
const Finding& telling(const PlanVerdict& verdict) {
  return verdict.first() != nullptr ? *verdict.first() : verdict.largest();
}

std::string answer_of(const PlanVerdict& verdict) {
  if (!verdict.agrees()) return "differs";
  return verdict.has_same_bits() ? "same bits" : "same";
}

/// Where and by how much a plan differs.
std::string describe(const PlanVerdict& verdict) {
  const Finding& first = telling(verdict);
  return fmt::format("{} differs first in '{}' after step {} by {:.2g} (allowed {:.2g})",
                     verdict.plan, first.value, first.step, first.distance, first.allowed);
}

void print_text(const PlanVerdicts& verdicts, const VerifyArguments& arguments, Console& console) {
  std::vector<Fact> facts{
      {"steps", with_commas(verdicts.steps)},
      {"kernels", arguments.options.cpu_kernels ? "cpu, f32" : "reference, f64"},
      {"loss", fmt::format("{:.6f} on one device", verdicts.loss)}};
  for (const Finding& finding : verdicts.sensitivity)
    facts.push_back({fmt::format("sensitivity {}", finding.step),
                     fmt::format("{:.2g} on one device with other rounding ('{}')",
                                 finding.distance, finding.value)});
  std::vector<std::vector<std::string>> rows{
      {"plan", "devices", "result", "tensor", "step", "difference", "tolerance", "loss"}};
  for (const PlanVerdict& verdict : verdicts.plans) {
    const Finding& finding = telling(verdict);
    bool is_exact = verdict.has_same_bits();
    rows.push_back({verdict.plan, with_commas(verdict.devices), answer_of(verdict),
                    is_exact ? "-" : finding.value, is_exact ? "-" : std::to_string(finding.step),
                    fmt::format("{:.2g}", finding.distance), fmt::format("{:.2g}", finding.allowed),
                    fmt::format("{:.6f}", verdict.loss)});
  }
  console.write(format_facts(facts) + "\n" + format_rows(rows));
}

Json to_json(const Finding& finding) {
  return {{"value", finding.value},
          {"step", finding.step},
          {"distance", finding.distance},
          {"allowed", finding.allowed}};
}

void print_json(const PlanVerdicts& verdicts, const VerifyArguments& arguments, Console& console) {
  Json json{{"steps", verdicts.steps},
            {"backend", arguments.backend},
            {"loss", verdicts.loss},
            {"sensitivity", Json::array()},
            {"plans", Json::array()}};
  for (const Finding& finding : verdicts.sensitivity)
    json["sensitivity"].push_back(
        {{"value", finding.value}, {"step", finding.step}, {"distance", finding.distance}});
  for (const PlanVerdict& verdict : verdicts.plans) {
    Json row{{"plan", verdict.plan},       {"devices", verdict.devices},
             {"agrees", verdict.agrees()}, {"same_bits", verdict.has_same_bits()},
             {"loss", verdict.loss},       {"largest", to_json(verdict.largest())}};
    if (verdict.first() != nullptr) row["first"] = to_json(*verdict.first());
    json["plans"].push_back(row);
  }
  console.print(json.dump());
}

void require_agreement(const PlanVerdicts& verdicts) {
  std::vector<std::string> complaints;
  for (const PlanVerdict& verdict : verdicts.plans)
    if (!verdict.agrees()) complaints.push_back(describe(verdict));
  if (complaints.empty()) return;
  throw Error(ErrorKind::numeric,
              fmt::format("{} of {} plans do not compute what one device computes: {}",
                          complaints.size(), verdicts.plans.size(), fmt::join(complaints, "; ")));
}

void run(VerifyArguments& arguments, Context& context) {
  refuse_mpirun("verify");
  if (arguments.json) context.console.reserve_out();
  RunConfig config = load_run(arguments.file, arguments.overrides);
  arguments.options.cpu_kernels = arguments.backend == "cpu";
  PlanVerdicts verdicts = verify_plans(config, arguments.options, [&](const std::string& what) {
    if (context.console.can_be_live()) context.console.show_live("training: " + what);
  });
  arguments.json ? print_json(verdicts, arguments, context.console)
                 : print_text(verdicts, arguments, context.console);
  // Last, so that the table is printed before the error that sets the exit code.
  require_agreement(verdicts);
}

}  // namespace

Verb add_verify(CLI::App& parent, Context& context) {
  auto arguments = std::make_shared<VerifyArguments>();  // shared by the parser and the verb
  VerifyOptions& options = arguments->options;
  CLI::App* app =
      parent.add_subcommand("verify", "Check that plans compute what one device computes");
  app->add_option("RUN.toml", arguments->file, "The run file")->required();
  app->add_option("key=value", arguments->overrides,
                  "Replaces a value of the file, as for troika train");
  app->add_option("--plans", options.plans,
                  "Plan names with their number of devices, such as data:4, or plan files")
      ->delimiter(',')
      ->allow_extra_args(false)  // key=value may follow
      ->required();
  take_whole(app->add_option("--steps", options.steps, "Training steps under each plan"))
      ->capture_default_str();
  take_word(
      app->add_option(
          "--backend", arguments->backend,
          "reference (f64) or cpu (f32, direct convolutions, the same kernels in every plan)"),
      {"reference", "cpu"})
      ->capture_default_str();
  take_number(app->add_option(
                  "--tolerance", options.tolerance,
                  "Largest difference allowed, relative to how far training moved the tensor; "
                  "default: 1e-9 (reference), 1e-4 or twice the run's own sensitivity to rounding "
                  "(cpu), 0 in fixed order"),
              Zero::allowed);
  app->add_option("--from", options.from, "Start from these weights instead of random ones");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(
      "Exits with code 6 if the results of a plan differ from those of one device.\n"
      "Example: three plans, and then the same bits on any number of devices\n"
      "  troika verify run.toml --plans data:4,tensor:2,plan.json\n"
      "  troika verify run.toml --plans data:2,data:8 --backend cpu parallel.order=fixed "
      "train.shards=8");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
