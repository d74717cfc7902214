// A file mapped into memory. Pages are read on demand, so the file may be larger than memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troika {

/// Owns one read-only mapping; move-only. Other processes must not truncate the file while it is
/// mapped. Troika never does: it replaces files by renaming.
class MappedFile {
 public:
  /// Throws Error(file) if the file cannot be read or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Returns the content of a file. Throws Error(file) if it cannot be read or has more than `limit`
/// bytes.
std::string read_small_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace troika
