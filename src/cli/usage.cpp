#include "cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/suggest.h"

namespace troika::cli {
namespace {

/// The verb, or the verb's verb, that the arguments reached.
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
  if (word.starts_with('-')) {
    // --option=value is compared by its name alone.
    std::string near = suggestion(word.substr(0, word.find('=')), names_of_options(at));
    return fmt::format("'{}' has no option '{}'{}", place, word,
                       near.empty() ? fmt::format("; see {} --help", place) : near);
  }
  if (verbs.empty())
    return fmt::format("'{}' takes no further argument '{}'; see {} --help", place, word, place);
  std::string near = suggestion(word, verbs);
  return fmt::format("'{}' has no verb '{}'{}", place, word,
                     near.empty() ? fmt::format("; there are {}", fmt::join(verbs, ", ")) : near);
}

template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

/// The two options that were given together, or the given one and the one it needs.
std::string explain_pair(const CLI::App* at) {
  for (const CLI::Option* option : at->get_options()) {
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_excludes())
      if (other->count() > 0)
        return fmt::format("'{}' and '{}' exclude each other; give one of them", option->get_name(),
                           other->get_name());
    for (const CLI::Option* other : option->get_needs())
      if (other->count() == 0)
        return fmt::format("'{0}' needs '{1}'; add '{1}'", option->get_name(), other->get_name());
  }
  return "these options do not go together";
}

std::string explain_missing(const CLI::App* at) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : at->get_options())
    if (option->get_required() && option->count() == 0) missing.push_back(option->get_name());
  return fmt::format("'{}' needs '{}'", full_name(at), fmt::join(missing, "' and '"));
}

std::string explain_count(const std::string& name, CLI::App* at) {
  if (at->get_option_no_throw("--" + name) != nullptr)  // flags come without their dashes
    return fmt::format("'--{}' takes no value", name);
  const CLI::Option* option = at->get_option_no_throw(name);
  if (option != nullptr && option->count() > 1)
    return fmt::format("'{}' is given {} times; give it once", name, option->count());
  return fmt::format("'{}' needs a value", name);
}

/// The parser's errors hold nothing but a text that begins with the name of the option; the rest
/// is read from the options themselves.
std::string explain_option(const CLI::ParseError& error, CLI::App* at) {
  std::string text = error.what(), name = text.substr(0, text.find_first_of(": "));
  if (is<CLI::ValidationError>(error))  // "NAME: ", then the words of our check
    return fmt::format("'{}' {}", name, text.substr(std::min(name.size() + 2, text.size())));
  if (is<CLI::ArgumentMismatch>(error)) return explain_count(name, at);
  if (is<CLI::RequiredError>(error)) return explain_missing(at);
  if (is<CLI::ExcludesError>(error) || is<CLI::RequiresError>(error)) return explain_pair(at);
  return fmt::format("the arguments of '{}' cannot be read", full_name(at));
}

/// Help lines such as "--tokens INT    Number of tokens to generate (default: 200)".
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat() {
    label("SUBCOMMAND", "VERB");
    label("Positionals", "Arguments");
    label("UINT", "INT");
    label("FLOAT", "NUMBER");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->get_positional()) return {};
    std::string text = " " + get_label(option->get_type_name());
    if (option->get_expected_max() > 1) text += ",...";
    return text;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (option->get_required() && !option->get_positional()) text += " (required)";
    if (!option->get_default_str().empty())
      text += fmt::format(" (default: {})", option->get_default_str());
    return text;
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_subcommands(app, mode);
    constexpr std::string_view kTitle = "\nSubcommands:";
    return text.starts_with(kTitle) ? "\nVerbs:" + text.substr(kTitle.size()) : text;
  }
};

}  // namespace

void prepare_parser(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "Print this help");
  app.option_defaults()->disable_flag_override();  // --json=maybe is refused
}

std::string help_text(CLI::App& app) {
  const CLI::App* verb = innermost(&app);
  return verb->help(verb->get_parent() == nullptr ? "" : full_name(verb->get_parent()));
}

std::string explain_usage(const CLI::ParseError& error, CLI::App& app) {
  CLI::App* at = innermost(&app);
  // An unknown word comes before the parser's own complaint, which may only follow from it.
  if (std::vector<std::string> rest = app.remaining(true); !rest.empty())
    return unexpected(rest.front(), at);
  std::string place = full_name(at);
  if (!names_of_verbs(at).empty() && at->get_subcommands().empty())
    return fmt::format("'{}' needs a verb; choose one of {}", place,
                       fmt::join(names_of_verbs(at), ", "));
  std::string text = explain_option(error, at);
  // Messages put the advice after a semicolon.
  bool says_what_to_do = text.find("; ") != std::string::npos;
  return says_what_to_do ? text : fmt::format("{}; see {} --help", text, place);
}

}  // namespace troika::cli
