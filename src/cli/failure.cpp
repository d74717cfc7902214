#include "cli/failure.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

#include "base/error.h"
#include "cli/version.h"

namespace troika::cli {
namespace {

std::string sentence_of(const std::exception& failure) {
  if (dynamic_cast<const Error*>(&failure) != nullptr) return failure.what();
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr)
    return "out of memory; a smaller train.global_batch or a smaller model may fit";
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&failure))
    return fmt::format("cannot access '{}': {}", file->path1().string(), file->code().message());
  return fmt::format(
      "{}\nThis is a bug in Troika {}. Please report it with this message, the command and the "
      "output of `troika doctor`.",
      failure.what(), kVersion);
}

}  // namespace

int report_failure(const std::exception& failure, Console& console) {
  console.fail(sentence_of(failure));
  return exit_code_of(failure);
}

}  // namespace troika::cli
