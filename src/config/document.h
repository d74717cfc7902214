// A TOML text as plain values with positions. Only document.cpp includes toml++.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace troika::config {

enum class Source { standard, file, command_line };

/// Where a value came from. Lines and columns count from 1. A standard (default) value has neither;
/// on the command line `column` is the number of the argument.
struct Where {
  Source source = Source::standard;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const Where&) const = default;
};

/// The order of complaints: defaults, the file from its top, the command line.
inline auto place_in_order(const Where& where) {
  return std::tuple(where.source, where.line, where.column);
}

/// A date or a time. TOML allows it, but no key takes one; kept for the error message.
struct DateTime {};

struct Value;
struct Field;
using Array = std::vector<Value>;
using Table = std::vector<Field>;  ///< In the order of the file.

struct Value {
  std::variant<bool, std::int64_t, double, std::string, DateTime, Array, Table> content;
  Where where;
  std::string bare;  ///< On the command line: the text as typed, for keys that want a string.

  template <class T>
  const T* as() const {
    return std::get_if<T>(&content);
  }
};

struct Field {
  std::string key;
  Where where;
  Value value;
};

const Field* find(const Table& table, std::string_view key);

struct SyntaxError {
  Where where;
  std::string message;
};

/// Reads a whole TOML text, or returns where and why it is not TOML. Texts that are too large or
/// too deeply nested for any run are refused before the parser can run out of stack.
std::variant<Table, SyntaxError> parse_toml(std::string_view text, Source source);

inline constexpr std::size_t kLargestText = 256 * 1024;

/// Reads a configuration file, up to one byte more than kLargestText, so that an endless file such
/// as a device ends too. Throws Error(usage) that names the path.
std::string read_text(const std::string& path);

}  // namespace troika::config
