// How Troika fails.
//
// A function of the library that can fail throws one of the two types below. Exceptions of the
// standard library, such as std::bad_alloc, and those of a user's callbacks pass through. The
// library never prints, exits or aborts.
//
//   int main() try {
//     troika::data::Source train = troika::data::open("csv:houses.csv");
//   } catch (const troika::Error& error) {
//     std::fprintf(stderr, "error: %s\n", error.what());
//     return error.exit_code();
//   }
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace troika {

/// The cause of an Error. The values are the exit codes of the `troika` command.
enum class ErrorKind {
  usage = 2,    ///< A bad argument or setting.
  file = 3,     ///< A file or data set that is missing, damaged or cannot be written.
  memory = 4,   ///< A run that does not fit in memory.
  peer = 5,     ///< Another process of the run was lost.
  numeric = 6,  ///< A loss or gradient that is not finite.
};

/// A failure that a person can act on. A value: copies are independent. what() is a sentence that
/// says what failed, where, why, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }
  /// The exit code for a main() that ends with this error.
  int exit_code() const { return static_cast<int>(kind_); }

  /// The same failure with its context in front: "context: message".
  [[nodiscard]] Error within(std::string_view context) const;

 private:
  ErrorKind kind_;
};

/// A bug in Troika: an invariant did not hold. Please report what() to the authors. Objects that
/// took part in the call must not be used afterwards.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr int kBugExitCode = 70;

}  // namespace troika
