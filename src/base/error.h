// The two kinds of failure (docs/errors.md): `Error` for what a user or the environment got wrong,
// TROIKA_CHECK for bugs in Troika itself.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troika {

/// The process exit code of each kind of failure; part of the command-line contract.
enum class ErrorKind { usage = 2, file = 3, memory = 4, peer = 5, numeric = 6 };

/// A failure that a person can act on. The message is a full sentence; `within` adds where it happened
/// on the way up, so that the outermost context comes first.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

  /// The same failure seen from further out: "context: message".
  [[nodiscard]] Error within(std::string_view context) const;

 private:
  ErrorKind kind_;
};

/// A bug in Troika: an invariant did not hold. Exit code 70.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr int kBugExitCode = 70;

[[noreturn]] void fail_check(const char* expression, const std::string& values, const char* file, int line);

namespace detail {
template <class A, class B>
std::string both_values(const A& a, const B& b) {
  std::ostringstream out;
  if constexpr (requires { out << a << b; }) out << a << " vs " << b;
  return out.str();
}
}  // namespace detail

}  // namespace troika

/// Fails with a Bug when `condition` is false; the rest of the arguments is the explanation.
#define TROIKA_CHECK(condition, ...)                                                             \
  do {                                                                                           \
    if (!(condition)) ::troika::fail_check(#condition, std::string{__VA_ARGS__}, __FILE__, __LINE__); \
  } while (false)

/// Fails with a Bug that shows both values when they differ.
#define TROIKA_CHECK_EQ(a, b)                                                                     \
  do {                                                                                            \
    if (!((a) == (b)))                                                                            \
      ::troika::fail_check(#a " == " #b, ::troika::detail::both_values((a), (b)), __FILE__, __LINE__); \
  } while (false)
