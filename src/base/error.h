// The two kinds of failure (docs/errors.md): `Error` for mistakes of the user or the environment,
// TROIKA_CHECK for bugs in Troika itself. The types come from the public header.
#pragma once

#include <troika/error.h>

#include <exception>
#include <sstream>
#include <string>

namespace troika {

[[noreturn]] void fail_check(const char* expression, const std::string& values, const char* file,
                             int line);

namespace detail {
template <class A, class B>
std::string both_values(const A& a, const B& b) {
  std::ostringstream out;
  if constexpr (requires { out << a << b; }) out << a << " vs " << b;
  return out.str();
}
}  // namespace detail

/// Exit code of a run that was asked to stop, saved a checkpoint and can be resumed. It is
/// EX_TEMPFAIL of sysexits.h, which batch systems read as "try again".
inline constexpr int kInterruptedExitCode = 75;

/// The exit code of a program that ends with this exception (docs/operation.md): that of an Error,
/// memory for std::bad_alloc, file for a failure of std::filesystem, and otherwise kBugExitCode.
int exit_code_of(const std::exception& failure);

}  // namespace troika

/// Throws a Bug if `condition` is false. The other argument, if any, explains it.
#define TROIKA_CHECK(condition, ...)                                                  \
  do {                                                                                \
    if (!(condition))                                                                 \
      ::troika::fail_check(#condition, std::string{__VA_ARGS__}, __FILE__, __LINE__); \
  } while (false)

/// Throws a Bug that shows both values if they differ.
#define TROIKA_CHECK_EQ(a, b)                                                               \
  do {                                                                                      \
    if (!((a) == (b)))                                                                      \
      ::troika::fail_check(#a " == " #b, ::troika::detail::both_values((a), (b)), __FILE__, \
                           __LINE__);                                                       \
  } while (false)
