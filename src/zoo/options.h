// Reads the options of a model from a run file into the struct of the model. Each model lists its
// options once, in `static void fields(auto& self, auto&& visit)` as visit(name, value,
// description); reading, checking and help are derived from that list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troika::zoo {

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

struct Option {
  std::string name;
  OptionValue value;

  bool operator==(const Option&) const = default;
};

/// One line of a model's help.
struct OptionHelp {
  std::string name;
  std::string type;   ///< "integer", "number", "true or false" or "text".
  std::string usual;  ///< The default, as a run file would write it.
  std::string description;
};

/// Identifies an option in error messages.
struct OptionName {
  std::string_view model;
  std::string_view option;
};

/// These throw Error(usage) if the value has another type or is out of range: integers in
/// [1, 10,000,000], numbers in [0, 10,000,000], so that sizes cannot overflow. An integer is also
/// accepted as a number or a text.
void assign(const OptionName& option_name, const OptionValue& given, std::int64_t& value);
void assign(const OptionName& option_name, const OptionValue& given, double& value);
void assign(const OptionName& option_name, const OptionValue& given, bool& value);
void assign(const OptionName& option_name, const OptionValue& given, std::string& value);

std::string to_text(const OptionValue& value);
std::string type_of(const OptionValue& value);

/// Throws Error(usage) that names each option that is unknown, with a suggestion, or given twice.
void require_known(std::string_view model, std::span<const Option> given,
                   std::span<const std::string> known);

/// "2048,2048" → {2048, 2048}; throws Error(usage) unless it is a list of integers
/// in [1, 10,000,000].
std::vector<std::int64_t> parse_sizes(const OptionName& option_name, std::string_view text);

/// Returns the index of `text` in `names`. Throws Error(usage) that lists the names if it is
/// missing.
std::size_t choose(const OptionName& option_name, std::string_view text,
                   std::span<const std::string_view> names);

/// The same for an enum with enum_names.
template <class Enum>
Enum parse_choice(const OptionName& option_name, std::string_view text) {
  return static_cast<Enum>(choose(option_name, text, enum_names(Enum{})));
}

template <class Options>
std::vector<OptionHelp> describe(const Options& defaults) {
  std::vector<OptionHelp> help;
  Options::fields(defaults, [&](const char* name, const auto& value, const char* description) {
    help.push_back({name, type_of(value), to_text(OptionValue(value)), description});
  });
  return help;
}

template <class Options>
Options read_options(std::string_view model, std::span<const Option> given, Options options) {
  std::vector<std::string> known;
  for (const OptionHelp& help : describe(options)) known.push_back(help.name);
  require_known(model, given, known);
  Options::fields(options, [&](const char* name, auto& value, const char*) {
    for (const Option& option : given) {
      if (option.name == name) assign({model, option.name}, option.value, value);
    }
  });
  return options;
}

}  // namespace troika::zoo
