#include "config/toml_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troika::config {
namespace {

constexpr std::size_t kLongestShown = 60;

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// At most kLongestShown bytes, never ending inside a UTF-8 character.
std::string shorten(std::string_view text) {
  if (text.size() <= kLongestShown) return std::string(text);
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (is_control(c)) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string toml_text(std::int64_t number) { return fmt::format("{}", number); }

std::string toml_text(double number) {
  std::string text = fmt::format("{}", number);
  bool is_float = text.find_first_of(".en") != std::string::npos;  // n: inf and nan.
  return is_float ? text : text + ".0";
}

std::string toml_text(bool flag) { return flag ? "true" : "false"; }

std::vector<std::string> toml_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(toml_text(text));
  return quoted;
}

std::string toml_list(const std::vector<std::string>& elements) {
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

std::string toml_key(std::string_view key) {
  bool bare = !key.empty() && std::ranges::all_of(key, is_bare);
  return bare ? std::string(key) : toml_text(key);
}

std::string describe(const Value& value) {
  if (auto flag = value.as<bool>()) return toml_text(*flag);
  if (auto number = value.as<std::int64_t>()) return toml_text(*number);
  if (auto number = value.as<double>()) return toml_text(*number);
  if (auto text = value.as<std::string>()) return toml_text(shorten(*text));
  if (value.as<DateTime>()) return "a date or time";
  return value.as<Array>() ? "an array" : "a table";
}

std::string on_one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, is_control, '?');
  return line;
}

std::string printable(std::string_view text) { return on_one_line(shorten(text)); }

}  // namespace troika::config
