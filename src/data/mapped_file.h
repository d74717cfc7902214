// A file seen as memory, read by the system on demand: it may be larger than memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace troika::data {

/// Owns one read-only mapping. The file must not be shortened by others while it is open.
class MappedFile {
 public:
  /// Throws Error(file) when it cannot be read or is no regular file.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace troika::data
