#include "ops/fields.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"

namespace troika {
namespace {

template <class T>
void parse_into(std::string_view text, T& value) {
  std::optional<T> number = parse_number<T>(text);
  if (!number) refuse_field(text, "a number");
  value = *number;
}

template <class List>
void print_list(std::string& out, const List& list) {
  out += fmt::format("[{}]", fmt::join(list, ","));
}

}  // namespace

void print_field(std::string& out, std::int64_t value) { out += std::to_string(value); }
void print_field(std::string& out, std::uint64_t value) { out += std::to_string(value); }
// fmt prints the shortest text that reads back to the same double.
void print_field(std::string& out, double value) { out += fmt::format("{}", value); }
void print_field(std::string& out, bool value) { out += value ? "true" : "false"; }
void print_field(std::string& out, const std::vector<std::int64_t>& value) {
  print_list(out, value);
}
void print_field(std::string& out, const std::array<std::int64_t, 2>& value) {
  print_list(out, value);
}

void refuse_field(std::string_view text, std::string_view expected) {
  throw Error(ErrorKind::file, fmt::format("'{}' is not {}", text, expected));
}

void parse_field(std::string_view text, std::int64_t& value) { parse_into(text, value); }
void parse_field(std::string_view text, std::uint64_t& value) { parse_into(text, value); }
void parse_field(std::string_view text, double& value) { parse_into(text, value); }

void parse_field(std::string_view text, bool& value) {
  if (text != "true" && text != "false") refuse_field(text, "true or false");
  value = text == "true";
}

void parse_field(std::string_view text, std::vector<std::int64_t>& value) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    refuse_field(text, "a list such as [1,2]");
  text = text.substr(1, text.size() - 2);
  value.clear();
  while (!text.empty()) {
    std::size_t comma = std::min(text.find(','), text.size());
    parse_into(text.substr(0, comma), value.emplace_back());
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void parse_field(std::string_view text, std::array<std::int64_t, 2>& value) {
  std::vector<std::int64_t> list;
  parse_field(text, list);
  if (list.size() != 2) refuse_field(text, "a pair such as [1,2]");
  value = {list[0], list[1]};
}

std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  while (!text.empty()) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += (text[end] == '[') - (text[end] == ']');
    std::string_view pair = text.substr(0, end);
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) refuse_field(pair, "of the form key=value");
    pairs.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

}  // namespace troika
