// runs/NAME: everything about one run, enough to replay it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "train/writer_lease.h"

namespace troika {

class RunFolder {
 public:
  /// A new folder below config.run.folder, to write: NAME or, when the name was not asked for and
  /// is taken, NAME-2, NAME-3 … Two processes never get the same one. Throws Error(usage) when an
  /// asked-for name is taken, Error(file) when it cannot be made.
  static RunFolder create(const RunConfig& config, const std::string& fallback_name);
  /// One that is there, to read.
  static RunFolder open(const std::filesystem::path& path);
  /// One that is there, to write. Throws Error(usage) while another process writes it.
  static RunFolder open_to_write(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path config() const { return path_ / "run.toml"; }
  /// Making this file asks the run to stop after its step and save.
  std::filesystem::path stop() const { return path_ / "stop"; }

  /// Replaces a small text file; throws Error(file).
  void write(const std::string& name, std::string_view text) const;

  /// Throws Error(file) if another process has become the writer of a folder opened to write.
  /// Called before everything that changes the folder.
  void require_writer() const;
  /// A sentence if the last writer is gone without closing the folder; else empty.
  std::string takeover() const { return lease_ ? lease_->takeover() : ""; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::unique_ptr<WriterLease> lease_;  // null: to read; or another rank has it
};

}  // namespace troika
