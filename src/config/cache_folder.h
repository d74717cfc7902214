// Where measurements that hold for every run on this machine are kept.
#pragma once

#include <filesystem>
#include <string>

namespace troika {

/// What `kernels.cache` means: "auto" is the user's cache folder (XDG_CACHE_HOME, else ~/.cache),
/// "none" is an empty path, all else is a folder. The one place of the library that looks at the
/// environment.
std::filesystem::path cache_folder(const std::string& setting);

}  // namespace troika
