// runs/NAME: everything about one run, enough to replay it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "train/writer_lease.h"

namespace troika {

/// What becomes of a new run whose name an earlier one has.
enum class IfTaken {
  next_name,  ///< It is called NAME-2, NAME-3 …; two processes never get the same folder.
  replace,    ///< The earlier run is deleted.
};

class RunFolder {
 public:
  /// A new folder, to write, at wanted_path() or beside it. To replace an earlier run throws
  /// Error(usage) while another process writes it, or where it does not look like a run folder;
  /// then nothing is deleted. Throws Error(file) when the folder cannot be made.
  static RunFolder create(const RunConfig& config, const std::string& fallback_name,
                          IfTaken if_taken = IfTaken::next_name);
  /// The folder of a run whose name is free; `fallback_name` is for a run file without a name.
  static std::filesystem::path wanted_path(const RunConfig& config,
                                           const std::string& fallback_name);
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
