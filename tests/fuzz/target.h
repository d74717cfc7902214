// What the fuzz targets share. A target is linked with libFuzzer (preset `fuzz`) or with
// replay.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

/// The entry point that libFuzzer calls; always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace troika::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Aborts with a message, which is how a target reports a finding to libFuzzer.
inline void require(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", otherwise);
  std::abort();
}

/// Checks the rules of docs/errors.md that hold for every message; returns 0.
inline int accept_refusal(const Error& error, ErrorKind kind) {
  const std::string_view message = error.what();
  require(error.kind() == kind, "an error of another kind");
  require(!message.empty() && message.back() != '.', "a message is empty or ends with a full stop");
  // A message of a cluster file has one line per error.
  for (char c : message) require(c == '\n' || static_cast<unsigned char>(c) >= ' ', message.data());
  return 0;
}

}  // namespace troika::fuzz
