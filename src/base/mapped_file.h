// A file seen as memory, read by the system on demand: it may be larger than memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troika {

/// Owns one read-only mapping; move-only. The file must not be shortened by others while it is
/// mapped: Troika itself never writes to a file under its final name, it only replaces it.
class MappedFile {
 public:
  /// Throws Error(file) when it cannot be read or is no regular file.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// A whole small file; throws Error(file) when it cannot be read or is over `limit` bytes.
std::string read_small_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace troika
