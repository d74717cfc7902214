// The folder runs/NAME, which holds everything needed to repeat or resume a run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "train/writer_lease.h"

namespace troika {

/// What to do if the name of a new run is taken.
enum class IfTaken {
  next_name,  ///< Use NAME-2, NAME-3 …; two processes never get the same folder.
  replace,    ///< Delete the earlier run.
};

class RunFolder {
 public:
  /// Creates a folder at wanted_path() or the next free name and opens it for writing. Replacing
  /// throws Error(usage), and deletes nothing, if another process writes the folder or if it does
  /// not look like a run folder. Throws Error(file) if the folder cannot be created.
  static RunFolder create(const RunConfig& config, const std::string& fallback_name,
                          IfTaken if_taken = IfTaken::next_name);
  /// Returns the folder that a run gets if its name is free. `fallback_name` is used if the run
  /// file has no run.name.
  static std::filesystem::path wanted_path(const RunConfig& config,
                                           const std::string& fallback_name);
  /// Opens an existing folder for reading. Throws Error(file) if it does not exist.
  static RunFolder open(const std::filesystem::path& path);
  /// Opens an existing folder for writing. Throws Error(usage) while another process writes it.
  static RunFolder open_to_write(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path config() const { return path_ / "run.toml"; }
  /// Creating this file asks the run to save and stop after the current step.
  std::filesystem::path stop() const { return path_ / "stop"; }

  /// Replaces a small text file; throws Error(file).
  void write(const std::string& name, std::string_view text) const;

  /// Throws Error(file) if this folder was opened for writing and another process has taken it
  /// over. Called before every change of the folder.
  void require_writer() const;
  /// Describes the last writer if it ended without closing the folder; else empty.
  std::string takeover() const { return lease_ ? lease_->takeover() : ""; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::unique_ptr<WriterLease> lease_;  // null if opened for reading
};

}  // namespace troika
