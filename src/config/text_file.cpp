#include "config/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "config/document.h"

namespace troika::config {
namespace {

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: error: cannot be read: {}", path, why));
}

}  // namespace

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_to_read(path, "it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_to_read(path, std::generic_category().message(errno));
  std::string text(kLargestText + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail_to_read(path, std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace troika::config
