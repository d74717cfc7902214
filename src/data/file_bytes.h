// The bytes of a data file, either mapped or unpacked in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"

namespace troika::data {

class FileBytes {
 public:
  /// Throws Error(file) when the file cannot be read.
  static FileBytes map(const std::string& path);
  /// The same, but a gzip file (by name or by its first bytes) is unpacked.
  static FileBytes map_or_inflate(const std::string& path);
  /// A text that is not in a file; `name` replaces the path in messages.
  static FileBytes of_text(const std::string& name, std::string_view text);

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const;
  std::size_t size() const { return bytes().size(); }
  /// Asks the system to read these bytes of a mapped file into memory, without waiting for them.
  void will_read(std::size_t offset, std::size_t count) const;

 private:
  FileBytes(std::string path, std::variant<MappedFile, std::vector<std::byte>> content);

  std::string path_;
  std::variant<MappedFile, std::vector<std::byte>> content_;
};

/// "PATH at byte OFFSET: problem". The problem includes what to do.
[[nodiscard]] Error file_error(const std::string& path, std::size_t offset,
                               const std::string& problem);

}  // namespace troika::data
