// The two kinds of failure (docs/errors.md): `Error` for what a user or the environment got wrong,
// TROIKA_CHECK for bugs in Troika itself. The types are the public ones.
#pragma once

#include <troika/error.h>

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

}  // namespace troika

/// Fails with a Bug when `condition` is false; the rest of the arguments is the explanation.
#define TROIKA_CHECK(condition, ...)                                                  \
  do {                                                                                \
    if (!(condition))                                                                 \
      ::troika::fail_check(#condition, std::string{__VA_ARGS__}, __FILE__, __LINE__); \
  } while (false)

/// Fails with a Bug that shows both values when they differ.
#define TROIKA_CHECK_EQ(a, b)                                                               \
  do {                                                                                      \
    if (!((a) == (b)))                                                                      \
      ::troika::fail_check(#a " == " #b, ::troika::detail::both_values((a), (b)), __FILE__, \
                           __LINE__);                                                       \
  } while (false)
