// The folder for measurements that are shared by all runs on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace troika {

/// Resolves `kernels.cache`: "auto" is the user's cache folder (XDG_CACHE_HOME, else ~/.cache),
/// "none" is an empty path, anything else is a folder. No other part of the library reads the
/// environment.
std::filesystem::path cache_folder(const std::string& setting);

}  // namespace troika
