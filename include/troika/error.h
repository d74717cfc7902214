// How Troika fails.
//
// Every function of the library that can fail throws one of the two types below and nothing else of
// its own; exceptions of the standard library (std::bad_alloc) pass through. The library never
// prints, exits or aborts.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace troika {

/// Who or what got it wrong: the call or the configuration, a file or data set, too little memory,
/// a lost peer, a number that is not finite. The values are the exit codes of the `troika` command.
enum class ErrorKind { usage = 2, file = 3, memory = 4, peer = 5, numeric = 6 };

/// A failure that a person can act on. what() is a sentence: what, where, why and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }
  /// For a main() that ends with this error.
  int exit_code() const { return static_cast<int>(kind_); }

  /// The same failure seen from further out: "context: message".
  [[nodiscard]] Error within(std::string_view context) const;

 private:
  ErrorKind kind_;
};

/// A bug in Troika: an invariant did not hold. Please report what() to the authors.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr int kBugExitCode = 70;

}  // namespace troika
