#include "zoo/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "base/suggest.h"

namespace troika::zoo {
namespace {

// Far above any real size; the product of two is still far below 2^63.
constexpr std::int64_t kLargest = 10'000'000;

[[noreturn]] void refuse(const OptionName& option_name, std::string_view expected,
                         std::string_view given) {
  throw Error(ErrorKind::usage,
              fmt::format("option '{}' of model '{}' takes {}, not {}", option_name.option,
                          option_name.model, expected, given));
}

std::string unknown_option(std::string_view model, const std::string& name,
                           std::span<const std::string> known) {
  auto near = closest(name, known);
  if (near)
    return fmt::format("model '{}' has no option '{}'; did you mean '{}'?", model, name, *near);
  if (known.empty())
    return fmt::format("model '{}' has no option '{}'; it has no options, remove it", model, name);
  return fmt::format("model '{}' has no option '{}'; it has {}", model, name,
                     fmt::join(known, ", "));
}

}  // namespace

void assign(const OptionName& option_name, const OptionValue& given, std::int64_t& value) {
  const auto* integer = std::get_if<std::int64_t>(&given);
  if (!integer || *integer < 1 || *integer > kLargest)
    refuse(option_name, "an integer from 1 to 10000000", to_text(given));
  value = *integer;
}

void assign(const OptionName& option_name, const OptionValue& given, double& value) {
  const auto* integer = std::get_if<std::int64_t>(&given);
  const auto* number = std::get_if<double>(&given);
  if (!integer && !number) refuse(option_name, "a number", to_text(given));
  value = number ? *number : static_cast<double>(*integer);
  // In this form the comparison also refuses NaN.
  if (!(value >= 0 && value <= kLargest))
    refuse(option_name, "a number from 0 to 10000000", to_text(given));
}

void assign(const OptionName& option_name, const OptionValue& given, bool& value) {
  const auto* flag = std::get_if<bool>(&given);
  if (!flag) refuse(option_name, "true or false", to_text(given));
  value = *flag;
}

void assign(const OptionName& option_name, const OptionValue& given, std::string& value) {
  const auto* integer = std::get_if<std::int64_t>(&given);
  const auto* text = std::get_if<std::string>(&given);
  if (!integer && !text) refuse(option_name, "a string", to_text(given));
  // A list of sizes such as hidden = 512 may be given as one integer.
  value = text ? *text : std::to_string(*integer);
}

std::string to_text(const OptionValue& value) {
  return std::visit(
      []<class T>(const T& held) {
        if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("\"{}\"", held);
        else
          return fmt::format("{}", held);
      },
      value);
}

std::string type_of(const OptionValue& value) {
  constexpr const char* kTypes[] = {"true or false", "integer", "number", "text"};
  static_assert(std::size(kTypes) == std::variant_size_v<OptionValue>);
  return kTypes[value.index()];
}

void require_known(std::string_view model, std::span<const Option> given,
                   std::span<const std::string> known) {
  // All mistakes are reported at once.
  std::vector<std::string> messages;
  std::set<std::string_view> allowed(known.begin(), known.end()), seen;
  for (const Option& option : given) {
    if (!allowed.contains(option.name))
      messages.push_back(unknown_option(model, option.name, known));
    else if (!seen.insert(option.name).second)
      messages.push_back(
          fmt::format("option '{}' of model '{}' is given twice; remove one", option.name, model));
  }
  if (!messages.empty())
    throw Error(ErrorKind::usage, fmt::format("{}", fmt::join(messages, "\n")));
}

std::size_t choose(const OptionName& option_name, std::string_view text,
                   std::span<const std::string_view> names) {
  auto found = std::ranges::find(names, text);
  if (found == names.end())
    refuse(option_name, fmt::format("one of {}", fmt::join(names, ", ")), text);
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::int64_t> parse_sizes(const OptionName& option_name, std::string_view text) {
  std::vector<std::int64_t> sizes;
  std::string_view rest = text;
  while (true) {
    std::string_view part = rest.substr(0, rest.find(','));
    std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    std::string_view digits = part.substr(first, part.find_last_not_of(' ') + 1 - first);
    std::int64_t size = sizes.emplace_back(parse_number<std::int64_t>(digits).value_or(0));
    if (size < 1 || size > kLargest)
      refuse(option_name, "integers from 1 to 10000000 such as \"512,256\"",
             fmt::format("\"{}\"", text));
    if (part.size() == rest.size()) return sizes;
    rest.remove_prefix(part.size() + 1);
  }
}

}  // namespace troika::zoo
