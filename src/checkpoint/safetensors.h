// Writes safetensors files tensor by tensor through one reused buffer, and reads them by mapping.
#pragma once

#include <filesystem>
#include <functional>
#include <unordered_map>

#include "base/mapped_file.h"
#include "checkpoint/safetensors_header.h"

namespace troika {

/// Fills `bytes` with entry `index` in row-major order. Called once per entry, in file order, on
/// the calling thread.
using TensorSource = std::function<void(std::size_t index, std::span<std::byte> bytes)>;

/// The checksums that the index of a checkpoint stores for a file.
struct WrittenChecksums {
  std::uint64_t header = 0;
  std::vector<std::uint64_t> tensors;  ///< One per entry, in the order of the entries.
};

/// Writes and syncs `path` without a temporary name. On failure throws Error(file) and leaves an
/// incomplete file.
WrittenChecksums write_safetensors(const std::filesystem::path& path,
                                   const SafetensorsLayout& layout, const TensorSource& source);

/// Writes a file atomically: `path` keeps its old content until the new one is complete on disk.
void save_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                      const TensorSource& source, const Metadata& metadata = {});

/// A file open for reading; thread-safe. The constructor checks the header and throws Error(file)
/// if it does not match the file. The format has no checksums of values.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  std::uint64_t header_checksum() const;

  /// Returns null if there is no such tensor.
  const StoredTensor* find(const std::string& name) const;
  /// The result is borrowed from this file.
  std::span<const std::byte> bytes(const StoredTensor& tensor) const;
  /// Throws Error(file) if the file has no tensor of this name, type and shape.
  std::span<const std::byte> bytes(const TensorEntry& expected) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace troika
