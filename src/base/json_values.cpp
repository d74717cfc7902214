#include "base/json_values.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/suggest.h"

namespace troika::json_values {
namespace {

constexpr std::size_t kLongestValue = 60;
/// A file may have any number of unknown keys of any length.
constexpr std::size_t kLongestSentence = 600;

/// Never ends inside a UTF-8 character.
std::string cut(std::string text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;
  return text.substr(0, longest) + "…";
}

std::string sentence(std::string_view text) {
  return cut(printable(text, Lines::one), kLongestSentence);
}

}  // namespace

void require_json(std::string_view text, const FileKind& kind) {
  if (auto fault = json_file_fault(text, kind.max_depth))
    throw Error(ErrorKind::file, sentence(fmt::format("{} cannot be read: {}", kind.name, *fault)));
}

void refuse_at_line(std::size_t line, const FileKind& kind, std::string_view predicate) {
  throw Error(ErrorKind::file, sentence(fmt::format("line {}: {} {}", line, kind.name, predicate)));
}

std::string shortened(std::string text) { return cut(std::move(text), kLongestValue); }

std::string describe(const Limits& limits) {
  if (limits.max == Limits{}.max) return fmt::format("an integer of at least {}", limits.min);
  return fmt::format("an integer from {} to {}", limits.min, limits.max);
}

std::string unknown_keys_text(const std::vector<std::string>& unknown, const std::string& where,
                              const std::vector<std::string>& known) {
  std::string names;
  for (const std::string& key : unknown) {
    if (names.size() > kLongestSentence) break;
    auto near = closest(key, known);
    names += fmt::format("{}'{}'{}", names.empty() ? "" : ", ", cut(key, kLongestValue),
                         near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
  return fmt::format("has unknown keys in {}: {}; known are {}", where, names,
                     fmt::join(known, ", "));
}

}  // namespace troika::json_values
