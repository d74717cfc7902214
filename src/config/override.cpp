#include "config/override.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nesting.h"
#include "config/toml_text.h"

namespace troika::config {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    parts.emplace_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  parts.emplace_back(path);
  return parts;
}

/// The parser saw "value = …" and not the command line, so its positions are replaced by the number
/// of the argument. Origins and complaints use it.
void place_at(Where where, Value& value);

void place_at(Where where, Table& table) {
  for (Field& field : table) {
    field.where = where;
    place_at(where, field.value);
  }
}

void place_at(Where where, Value& value) {
  value.where = where;
  if (auto table = std::get_if<Table>(&value.content)) place_at(where, *table);
  if (auto array = std::get_if<Array>(&value.content)) {
    for (Value& element : *array) place_at(where, element);
  }
}

/// The value of a TOML text, or why it is not TOML.
std::variant<Value, std::string> parse_value(std::string_view text) {
  auto parsed = parse_toml(fmt::format("value = {}", text), Source::command_line);
  if (auto error = std::get_if<SyntaxError>(&parsed)) return error->message;
  Table& fields = std::get<Table>(parsed);
  // A line break in the argument would start another key.
  if (fields.size() != 1) return std::string("more than one value");
  return std::move(fields.front().value);
}

std::variant<Value, std::string> parse_argument(std::string_view text) {
  // An unclosed quote or bracket is a typing error; as a plain string it would be accepted
  // silently.
  bool must_be_toml = !text.empty() && std::string_view("\"'[{").find(text[0]) != std::string::npos;
  auto value = parse_value(text);
  if (must_be_toml) return value;
  // Shells remove quotes, so model.name=lenet arrives as a word that is not TOML.
  if (std::holds_alternative<std::string>(value)) value = parse_value(toml_text(text));
  if (auto parsed = std::get_if<Value>(&value)) parsed->bare = text;
  return value;
}

/// The field `key` of `table`, created if missing.
Field& field_at(Table& table, const std::string& key, Where where) {
  auto found = std::ranges::find(table, key, &Field::key);
  if (found != table.end()) return *found;
  Value empty;
  empty.content = Table{};
  empty.where = where;
  return table.emplace_back(Field{key, where, std::move(empty)});
}

void insert(Table& document, std::span<const std::string> path, Value value) {
  Where where = value.where;
  Table* table = &document;
  for (const std::string& key : path.first(path.size() - 1)) {
    Value& inner = field_at(*table, key, where).value;
    // The command line wins, even if the file has a plain value here, such as parallel.plan =
    // "data" and the argument parallel.plan.data=2.
    if (!inner.as<Table>()) inner = Value{.content = Table{}, .where = where, .bare = {}};
    table = std::get_if<Table>(&inner.content);
  }
  Field& field = field_at(*table, path.back(), where);
  field.where = where;
  field.value = std::move(value);
}

const std::string* string_in(const std::variant<Value, std::string>& parsed) {
  const Value* value = std::get_if<Value>(&parsed);
  return value ? value->as<std::string>() : nullptr;
}

}  // namespace

std::string argument_text(const std::string& toml) {
  auto value = parse_value(toml);
  const std::string* text = string_in(value);
  // Spaces at the ends would be trimmed.
  if (!text || text->empty() || trim(*text) != *text) return toml;
  auto again = parse_argument(*text);
  const std::string* same = string_in(again);
  return same && *same == *text ? *text : toml;
}

void apply_overrides(std::span<const std::string> overrides, Table& document, Reader& reader) {
  Where where{Source::command_line, 0, 0};
  for (std::string_view argument : overrides) {
    // Refused arguments count too, so that messages are in the order of the command line.
    ++where.column;
    std::size_t equals = argument.find('=');
    std::string key(trim(argument.substr(0, equals)));
    auto refuse = [&](std::string_view why) {
      reader.refuse(key, where, fmt::format("'{}': {}", printable(argument), why));
    };
    auto path = split_path(key);
    bool has_gap = std::ranges::any_of(path, &std::string::empty);
    // The depth is limited as in a file, because tables are read and destroyed recursively.
    if (equals == std::string_view::npos || has_gap || path.size() > kMostDots) {
      refuse("it is not of the form section.key=value, such as optimizer.learning_rate=0.1");
      continue;
    }
    auto value = parse_argument(trim(argument.substr(equals + 1)));
    if (auto why = std::get_if<std::string>(&value)) {
      refuse(*why);
      continue;
    }
    place_at(where, std::get<Value>(value));
    insert(document, path, std::move(std::get<Value>(value)));
  }
}

}  // namespace troika::config
