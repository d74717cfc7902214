#include "config/cache_folder.h"

#include <cstdlib>
#include <string_view>

namespace troika {
namespace {

std::filesystem::path user_cache() {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view(value);
  };
  // The XDG specification: a relative path is not valid.
  std::filesystem::path own(variable("XDG_CACHE_HOME"));
  if (own.is_absolute()) return own / "troika";
  std::filesystem::path home(variable("HOME"));
  return home.is_absolute() ? home / ".cache" / "troika" : std::filesystem::path{};
}

}  // namespace

std::filesystem::path cache_folder(const std::string& setting) {
  if (setting == "none") return {};
  return setting == "auto" ? user_cache() : std::filesystem::path(setting);
}

}  // namespace troika
