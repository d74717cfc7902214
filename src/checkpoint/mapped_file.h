// A file's bytes as read-only memory.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace troika {

/// Move-only. Throws Error(file) when the file cannot be opened or mapped. The file must not shrink
/// while it is mapped: Troika never writes to a file under its final name, it only replaces it.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// A whole small file; throws Error(file) when it cannot be read or is over `limit` bytes.
std::string read_small_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace troika
