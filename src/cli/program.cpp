#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "cli/failure.h"
#include "cli/usage.h"
#include "cli/verb.h"
#include "cli/version.h"

namespace troika::cli {
namespace {

// A new verb is one line here, one in verb.h and one source file.
std::vector<Verb> add_verbs(CLI::App& app, Context& context) {
  return {add_doctor(app, context),  add_demo(app, context),    add_config(app, context),
          add_train(app, context),   add_eval(app, context),    add_predict(app, context),
          add_models(app, context),  add_profile(app, context), add_bench(app, context),
          add_inspect(app, context), add_plan(app, context),    add_simulate(app, context),
          add_verify(app, context)};
}

/// Fills the arguments of the verbs. Returns the exit code if the program ends here.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments,
                         Context& context) {
  try {
    // CLI11 takes a vector as a stack, with the first argument last.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    context.console.write(help_text(app));
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

/// Parses the arguments and runs the verb. Returns the exit code.
int run_arguments(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app{"Troika trains neural networks on one device or many.", "troika"};
  prepare_parser(app);  // before the verbs, which inherit it
  app.set_version_flag("--version", kVersion, "Print the version");
  app.require_subcommand(1);
  app.footer(
      "Start with:\n  troika demo                    # trains on generated images of digits\n"
      "  troika config init run.toml    # a commented run file\n  troika train run.toml\n"
      "More about a verb: troika VERB --help");
  std::vector<Verb> verbs = add_verbs(app, context);
  if (auto code = parse(app, arguments, context)) return *code;
  try {
    run_verb(verbs);
    return context.exit_code;
  } catch (const std::exception& error) {
    return report_failure(error, context.console);
  }
}

/// The command line, quoted for a shell: "troika train 'my run.toml'".
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

/// `troika ... > file` on a full disk must not exit with 0.
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
