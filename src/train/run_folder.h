// runs/NAME: everything about one run, enough to replay it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/run_config.h"

namespace troika {

class RunFolder {
 public:
  /// A new folder below config.run.folder: NAME or, when the name was not asked for and is taken,
  /// NAME-2, NAME-3 … Throws Error(usage) when an asked-for name is taken, Error(file) when it
  /// cannot be made.
  static RunFolder create(const RunConfig& config, const std::string& fallback_name);
  /// One that is there.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path config() const { return path_ / "run.toml"; }
  /// Making this file asks the run to stop after its step and save.
  std::filesystem::path stop() const { return path_ / "stop"; }

  /// Replaces a small text file; throws Error(file).
  void write(const std::string& name, std::string_view text) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace troika
