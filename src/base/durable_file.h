// Writing that survives a crash: bytes go to a temporary name, are synced, and then take their real
// name in one step. Not thread-safe; one writer per folder at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace troika {

/// The sentence for a failed system call: what was tried, on which path, why, and what to do about
/// it.
Error file_error(std::string_view action, const std::filesystem::path& path, int code);

/// A file being written. Every failure throws Error(file); `finish` syncs and closes, the
/// destructor only closes.
class OutputFile {
 public:
  enum class Content { none, kept, appended };
  /// A file whose content is kept must be there; with `appended` each write goes behind its end.
  explicit OutputFile(std::filesystem::path path, Content content = Content::none);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Anywhere in it; several processes may do so at once in different places.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void resize(std::uint64_t bytes);
  void finish();

 private:
  std::filesystem::path path_;
  int handle_ = -1;
};

/// A file or folder under its temporary name "TARGET.partial-PID". `publish` gives it the real
/// name, replacing what was there, and syncs the folder around it; without `publish` the destructor
/// removes it.
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

/// Writes a whole small file at once: afterwards `path` has either its old content or all of the
/// new one.
void replace_file(const std::filesystem::path& path, std::string_view content);

/// Takes a folder's name away before its content, so that a crash never leaves half a folder under
/// that name.
void remove_folder(const std::filesystem::path& folder);

/// Creates a folder and those above it, synced; nothing happens if it exists.
void make_folder(const std::filesystem::path& folder);

/// Removes what a killed writer left behind in `folder`: everything whose name has ".partial-" in
/// it.
void remove_partials(const std::filesystem::path& folder);

}  // namespace troika
