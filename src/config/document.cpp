#include "config/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "config/nesting.h"

namespace troika::config {
namespace {

Where where_of(const toml::source_region& region, Source source) {
  return {source, region.begin.line, region.begin.column};
}

Value convert(const toml::node& node, Source source);

Table convert_table(const toml::table& from, Source source) {
  Table fields;
  for (const auto& [key, node] : from) {
    Value value = convert(node, source);
    fields.push_back({std::string(key.str()), where_of(key.source(), source), std::move(value)});
  }
  // toml++ keeps keys in alphabetical order; messages and listings want the order of the file.
  std::ranges::stable_sort(fields, {},
                           [](const Field& field) { return place_in_order(field.where); });
  return fields;
}

Array convert_array(const toml::array& from, Source source) {
  Array values;
  for (const toml::node& node : from) values.push_back(convert(node, source));
  return values;
}

Value convert(const toml::node& node, Source source) {
  Value value;
  value.where = where_of(node.source(), source);
  switch (node.type()) {
    case toml::node_type::boolean:
      value.content = node.as_boolean()->get();
      break;
    case toml::node_type::integer:
      value.content = node.as_integer()->get();
      break;
    case toml::node_type::floating_point:
      value.content = node.as_floating_point()->get();
      break;
    case toml::node_type::string:
      value.content = node.as_string()->get();
      break;
    case toml::node_type::array:
      value.content = convert_array(*node.as_array(), source);
      break;
    case toml::node_type::table:
      value.content = convert_table(*node.as_table(), source);
      break;
    case toml::node_type::none:
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      value.content = DateTime{};
      break;
  }
  return value;
}

/// Words of the parser's message, and what to tell the user instead; the first that fits counts.
struct Rewording {
  std::string_view part;
  std::string_view advice;
};

constexpr Rewording kRewordings[] = {
    {"could not determine value type", "put a text in quotes, such as \"lenet\""},
    {"Error while parsing boolean", "put a text in quotes, such as \"lenet\""},
    {"control characters", "a text must end with its quote on the same line"},
    {"encountered end-of-file", "a text, an array or a table is not closed"},
    {"unknown escape sequence", "write a backslash in a text as \\\\"},
    {"cannot redefine existing", "a key or a section stands here for the second time"},
    {"not representable in 64 bits", "the number is too large"},
    {"while parsing table header", "a section is written as [name] on a line of its own"},
    {"expected '='", "a key is followed by '=' and its value"},
    {"expected value", "the value is missing"},
    {"while parsing inline table", "a table in a line is written as { key = value, key = value }"},
    {"expected a comment or whitespace", "only a comment may follow the value"},
};

std::string plain_reason(std::string_view description, std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && text[begin] == '{')
    return "not valid TOML: it begins like JSON; check that this is the right file";
  for (const Rewording& rewording : kRewordings)
    if (description.find(rewording.part) != description.npos)
      return fmt::format("not valid TOML: {}", rewording.advice);
  return "not valid TOML";
}

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: error: cannot be read: {}", path, why));
}

}  // namespace

const Field* find(const Table& table, std::string_view key) {
  auto at = std::ranges::find(table, key, &Field::key);
  return at == table.end() ? nullptr : &*at;
}

std::variant<Table, SyntaxError> parse_toml(std::string_view text, Source source) {
  if (text.size() > kLargestText)
    return SyntaxError{
        {source, 1, 1},
        fmt::format("longer than {} KiB; this is not a file for Troika", kLargestText / 1024)};
  // Before toml::parse, whose recursion would exhaust the stack.
  if (auto deep = find_deep_nesting(text))
    return SyntaxError{
        {source, deep->line, deep->column},
        fmt::format("nested deeper than {} brackets or {} dots", kDeepestBrackets, kMostDots)};
  try {
    return convert_table(toml::parse(text), source);
  } catch (const toml::parse_error& error) {
    return SyntaxError{where_of(error.source(), source), plain_reason(error.description(), text)};
  }
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_to_read(path, "it is a folder");
  // ifstream reports no reason itself; errno of its system call is the only one there is.
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_to_read(path, std::generic_category().message(errno));
  std::string text(kLargestText + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail_to_read(path, std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace troika::config
