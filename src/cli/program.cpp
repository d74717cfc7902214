#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/bench.h"
#include "cli/config.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/eval.h"
#include "cli/failure.h"
#include "cli/inspect.h"
#include "cli/models.h"
#include "cli/predict.h"
#include "cli/profile.h"
#include "cli/train.h"
#include "cli/verify.h"
#include "cli/version.h"

namespace troika::cli {
namespace {

// One line here and one file pair make a new verb.
std::vector<Verb> add_verbs(CLI::App& app, Context& context) {
  return {add_doctor(app, context),  add_demo(app, context),    add_config(app, context),
          add_train(app, context),   add_eval(app, context),    add_predict(app, context),
          add_models(app, context),  add_profile(app, context), add_bench(app, context),
          add_inspect(app, context), add_verify(app, context)};
}

/// The verb, or the verb's verb, that the arguments got to.
CLI::App* innermost(CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

/// "troika config check"
std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : full_name(parent) + " " + app->get_name();
}

std::vector<std::string> names_of_verbs(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app->get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  if (auto near = closest(word, known)) return fmt::format("; did you mean '{}'?", *near);
  return {};
}

std::string unexpected(const std::string& word, const CLI::App* at) {
  std::string place = full_name(at);
  std::vector<std::string> verbs = names_of_verbs(at);
  if (word.starts_with('-'))
    return fmt::format("'{}' has no option '{}'{}", place, word,
                       suggestion(word.substr(0, word.find('=')), names_of_options(at)));
  if (verbs.empty())
    return fmt::format("'{}' takes no further argument '{}'; see {} --help", place, word, place);
  std::string near = suggestion(word, verbs);
  return fmt::format("'{}' has no verb '{}'{}", place, word,
                     near.empty() ? fmt::format("; there are {}", fmt::join(verbs, ", ")) : near);
}

/// Explains an error of the parser, in our words if its own are not plain.
std::string plain_words(const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)  // "Could not convert: -x = y"
    return fmt::format("'{}' is not a value that the option takes",
                       text.substr(std::min(text.find(": ") + 2, text.size())));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) !=
      nullptr)  // "-x: 1 required INT missing"
    return fmt::format("'{}' needs a value", text.substr(0, text.find(':')));
  return text;
}

std::string explain_usage(const CLI::ParseError& error, CLI::App& app) {
  CLI::App* at = innermost(&app);
  if (std::vector<std::string> rest = app.remaining(true); !rest.empty())
    return unexpected(rest.front(), at);
  std::string place = full_name(at);
  if (!names_of_verbs(at).empty() && at->get_subcommands().empty())
    return fmt::format("'{}' needs a verb: {}", place, fmt::join(names_of_verbs(at), ", "));
  return fmt::format("{}: {}; see {} --help", place, plain_words(error), place);
}

/// Fills the arguments of the verbs; returns the exit code if the program ends here.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments,
                         Context& context) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    const CLI::App* verb = innermost(&app);
    context.console.write(
        verb->help(verb->get_parent() == nullptr ? "" : full_name(verb->get_parent())));
    return 0;
  } catch (const CLI::CallForVersion&) {
    context.console.print(fmt::format("troika {}", kVersion));
    return 0;
  } catch (const CLI::ParseError& error) {
    context.console.fail(explain_usage(error, app));
    return static_cast<int>(ErrorKind::usage);
  }
}

void run_verb(const std::vector<Verb>& verbs) {
  auto chosen = std::ranges::find_if(verbs, [](const Verb& verb) { return verb.app->parsed(); });
  TROIKA_CHECK(chosen != verbs.end(), "no verb was parsed");
  chosen->run();
}

/// Parses and runs the verb; the exit code.
int run_arguments(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app{
      "Troika trains neural networks on many devices: it finds how to split the work, says why, "
      "and runs it.",
      "troika"};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(
      "Start with:\n  troika demo                    # trains on drawn digits\n"
      "  troika config init run.toml    # a commented run file\n  troika train run.toml\n"
      "Each verb explains itself: troika VERB --help");
  std::vector<Verb> verbs = add_verbs(app, context);
  if (auto code = parse(app, arguments, context)) return *code;
  try {
    run_verb(verbs);
    return context.exit_code;
  } catch (const std::exception& error) {
    return report_failure(error, context.console);
  }
}

/// "troika train 'my run.toml'": what would start the program the same way from a shell.
std::string shell_text(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string text = "troika";
  for (const std::string& word : arguments) {
    bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    std::string quoted;
    for (char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
    text += is_plain ? " " + word : " '" + quoted + "'";
  }
  return text;
}

/// A full disk behind `troika ... > file` must not pass for success.
int report_lost_output(int code, Console& console) {
  if (console.lost_output() == 0) return code;
  console.fail(fmt::format("the output is incomplete: cannot write to stdout: {}",
                           std::generic_category().message(console.lost_output())));
  return code == 0 ? static_cast<int>(ErrorKind::file) : code;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, Context& context) {
  context.command = shell_text(arguments);
  return report_lost_output(run_arguments(arguments, context), context.console);
}

}  // namespace troika::cli
