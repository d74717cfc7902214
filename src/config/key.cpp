#include "config/key.h"

#include <fmt/format.h>

#include "base/suggest.h"

namespace troika::config {
namespace {

/// "'learning_rate' in [optimizer]", or "'optimizer'" for a section.
std::string place(std::string_view path) {
  std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return fmt::format("'{}'", printable(path));
  return fmt::format("'{}' in [{}]", printable(path.substr(dot + 1)), path.substr(0, dot));
}

std::string suggestion(const Value& value, const std::vector<std::string>& choices) {
  auto word = value.as<std::string>();
  auto near = word ? closest(*word, choices) : std::nullopt;
  return near ? fmt::format("; did you mean {}?", toml_text(*near)) : std::string{};
}

}  // namespace

void refuse_value(const Value& value, const Expectation& expected, Reader& reader) {
  reader.refuse(expected.path, value.where,
                fmt::format("{} must be {}, not {}{}", place(expected.path), expected.allowed,
                            describe(value), suggestion(value, expected.choices)));
}

void refuse_missing(const std::string& path, const std::string& allowed, Reader& reader) {
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos)
    return reader.refuse(path, {}, fmt::format("missing section [{}]", path));
  // A missing key has no place of its own, so the complaint points at its section.
  reader.refuse(path, reader.origin(path.substr(0, dot)),
                fmt::format("missing key {}: {}", place(path), allowed));
}

void refuse_unused(const Field& field, const std::string& path, const std::string& used_by,
                   Reader& reader) {
  reader.refuse(
      path, field.where,
      fmt::format("{} has no effect here, only with {}; remove it", place(path), used_by));
}

}  // namespace troika::config
