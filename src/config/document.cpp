#include "config/document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "config/nesting.h"
#include "config/toml_text.h"

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

std::string tidy(std::string_view description) {
  constexpr std::string_view kOpening = "Error while parsing ";
  if (description.starts_with(kOpening)) description.remove_prefix(kOpening.size());
  return fmt::format("not valid TOML: {}", on_one_line(description));
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
        fmt::format("longer than {} KiB; this is no file for Troika", kLargestText / 1024)};
  if (auto deep = find_deep_nesting(text))
    return SyntaxError{
        {source, deep->line, deep->column},
        fmt::format("nested deeper than {} brackets or {} dots", kDeepestBrackets, kMostDots)};
  try {
    return convert_table(toml::parse(text), source);
  } catch (const toml::parse_error& error) {
    return SyntaxError{where_of(error.source(), source), tidy(error.description())};
  }
}

}  // namespace troika::config
