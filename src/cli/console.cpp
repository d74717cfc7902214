#include "cli/console.h"

#include <algorithm>
#include <cerrno>

#include "base/printable.h"

namespace troika::cli {
namespace {

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

void Console::print(std::string_view line) {
  if (is_silent_) return;
  clear_live();
  put(out_, printable(line) + '\n');
}

void Console::write(std::string_view text) {
  if (is_silent_) return;
  clear_live();
  put(out_, printable(text));
}

void Console::say(std::string_view line) {
  if (is_silent_) return;
  clear_live();
  put(people(), printable(line) + '\n');
}

void Console::warn(std::string_view sentence) {
  if (is_silent_) return;
  clear_live();
  err_ << colored("warning: ", kYellow) << printable(sentence) << '\n' << std::flush;
}

void Console::fail(std::string_view sentence) {
  if (is_silent_) return;
  clear_live();
  // Errors of a file come as FILE:LINE:COLUMN: error: …, as compilers write them.
  bool has_place = sentence.find(": error: ") != std::string_view::npos;
  err_ << (has_place ? "" : colored("error: ", kRed)) << printable(sentence) << '\n' << std::flush;
}

bool Console::can_be_live() const {
  if (is_plain_) return false;
  return out_is_reserved_ ? environment_.err_is_terminal : environment_.out_is_terminal;
}

void Console::show_live(std::string_view line) {
  if (is_silent_) return;
  // A line that wraps could not be taken back.
  auto room = static_cast<std::size_t>(std::max(environment_.width - 1, 1));
  put(people(), kClearLine + printable(line, Lines::one).substr(0, room));
  is_live_ = true;
}

/// A stream keeps no reason for its failure, so errno is read right after the write.
void Console::put(std::ostream& stream, std::string_view text) {
  errno = 0;
  stream << text << std::flush;
  if (!out_ && lost_output_ == 0) lost_output_ = errno != 0 ? errno : EIO;
}

void Console::clear_live() {
  if (is_live_) put(people(), kClearLine);
  is_live_ = false;
}

std::string Console::colored(std::string_view text, const char* code) const {
  if (is_plain_ || !environment_.err_is_terminal || !environment_.wants_color)
    return std::string(text);
  return code + std::string(text) + kPlain;
}

}  // namespace troika::cli
