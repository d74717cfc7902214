// The terminal as verbs see it: results, words for people, one live line. Used from one thread.
// Whatever is printed passes through `printable`, since much of it comes from files.
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

  /// What the verb was asked for, on stdout; `print` ends the line.
  void print(std::string_view line);
  void write(std::string_view text);
  /// A line for people: on stdout, or on stderr while stdout belongs to a machine.
  void say(std::string_view line);
  /// On stderr, with "warning: " in front.
  void warn(std::string_view sentence);
  /// On stderr. "error: " is put in front unless the text is in a compiler's form already, as that
  /// of a bad run file is.
  void fail(std::string_view sentence);

  /// From now on stdout is for JSON alone.
  void reserve_out() { out_is_reserved_ = true; }

  /// From now on plain lines only, though it seems to be a terminal: mpirun lets it seem so.
  void be_plain() { is_plain_ = true; }
  /// From now on nothing is written: another rank speaks for all.
  void be_silent() { is_silent_ = true; }

  /// Whether one live line can be shown, and that line: it stays the last one until the next is
  /// shown.
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
