// Crash-safe writing: bytes go to a temporary name, are synced, and the file is then renamed
// atomically. Not thread-safe; one writer per folder at a time. Every failure throws Error(file).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace troika {

/// The error of a failed system call: what was tried, on which path, why, and what to do. `code` is
/// an errno value.
Error file_error(std::string_view action, const std::filesystem::path& path, int code);

/// A file being written. `finish` syncs and closes it; the destructor only closes.
class OutputFile {
 public:
  enum class Content { none, kept, appended };
  /// `none` creates or truncates the file. `kept` and `appended` require that it exists; `appended`
  /// writes at its end.
  explicit OutputFile(std::filesystem::path path, Content content = Content::none);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Several processes may write disjoint ranges of one file at the same time.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void resize(std::uint64_t bytes);
  void finish();

 private:
  std::filesystem::path path_;
  int handle_ = -1;
};

/// A file or folder under the temporary name "TARGET.partial-PID". `publish` renames it to TARGET,
/// replacing what was there, and syncs the parent folder. Without `publish` the destructor removes
/// it.
class Partial {
 public:
  explicit Partial(std::filesystem::path target);
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;
  ~Partial();

  const std::filesystem::path& path() const { return path_; }
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
};

/// Replaces a small file atomically: after a crash `path` has either its old or its new content.
void replace_file(const std::filesystem::path& path, std::string_view content);

/// Renames the folder before deleting its content, so that a crash never leaves half a folder under
/// its name.
void remove_folder(const std::filesystem::path& folder);

/// Creates a folder and its parents and syncs them. Does nothing if the folder exists.
void make_folder(const std::filesystem::path& folder);

/// Removes what killed writers left in `folder`: every entry with ".partial-" in its name.
void remove_partials(const std::filesystem::path& folder);

}  // namespace troika
