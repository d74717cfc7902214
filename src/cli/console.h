// The terminal: results, messages, one live line. Used from one thread. All output passes through
// `printable`, because much of it comes from files.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "cli/environment.h"

namespace troika::cli {

class Console {
 public:
  /// Borrows the streams.
  Console(std::ostream& out, std::ostream& err, const Environment& environment)
      : out_(out), err_(err), environment_(environment) {}

  /// The result of the verb, on stdout. `print` adds a line break.
  void print(std::string_view line);
  void write(std::string_view text);
  /// A message for a person: on stdout, or on stderr if stdout is reserved for JSON.
  void say(std::string_view line);
  /// On stderr, with "warning: " in front.
  void warn(std::string_view sentence);
  /// On stderr. "error: " is put in front unless the text is in a compiler's form already, as that
  /// of a bad run file is.
  void fail(std::string_view sentence);

  /// Reserves stdout for JSON.
  void reserve_out() { out_is_reserved_ = true; }

  /// Disables the live line and colours. mpirun makes the output look like a terminal.
  void be_plain() { is_plain_ = true; }
  /// Disables all output, because another rank writes it.
  void be_silent() { is_silent_ = true; }

  /// The live line stays the last line until the next one replaces it.
  bool can_be_live() const;
  void show_live(std::string_view line);
  int width() const { return environment_.width; }

  /// The errno of the first write to stdout that failed; 0 if everything was written.
  int lost_output() const { return lost_output_; }

 private:
  std::ostream& people() { return out_is_reserved_ ? err_ : out_; }
  void put(std::ostream& stream, std::string_view text);
  void clear_live();
  std::string colored(std::string_view text, const char* code) const;

  std::ostream& out_;
  std::ostream& err_;
  const Environment environment_;
  bool out_is_reserved_ = false;
  bool is_live_ = false;
  bool is_plain_ = false;
  bool is_silent_ = false;
  int lost_output_ = 0;
};

}  // namespace troika::cli
