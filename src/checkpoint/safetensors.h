// safetensors files: written tensor after tensor from one reused buffer, read by mapping.
#pragma once

#include <filesystem>
#include <functional>
#include <unordered_map>

#include "base/mapped_file.h"
#include "checkpoint/safetensors_layout.h"

namespace troika {

/// Fills `bytes` with entry number `index`, row-major. Called once per entry, in file order, on the
/// calling thread.
using TensorSource = std::function<void(std::size_t index, std::span<std::byte> bytes)>;

/// What a checkpoint's index says of a file it covers.
struct WrittenChecksums {
  std::uint64_t header = 0;
  std::vector<std::uint64_t> tensors;  ///< One per entry, in the order of the entries.
};

/// Writes and syncs `path`, under that very name. Throws Error(file) on any failure and then leaves
/// what it had written.
WrittenChecksums write_safetensors(const std::filesystem::path& path,
                                   const SafetensorsLayout& layout, const TensorSource& source);

/// Saves one file, all or nothing: `path` keeps its old content until the new one is complete on
/// disk.
void save_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                      const TensorSource& source, const Metadata& metadata = {});

/// A file open for reading; thread-safe. Opening checks the header against the file (Error(file)
/// otherwise); the values themselves carry no checksum in this format.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  std::uint64_t header_checksum() const;

  /// Null when there is no such tensor.
  const StoredTensor* find(const std::string& name) const;
  /// Borrowed from this file.
  std::span<const std::byte> bytes(const StoredTensor& tensor) const;
  /// The bytes of a tensor that must be there with this type and shape; throws Error(file) that
  /// says what is there instead.
  std::span<const std::byte> bytes(const TensorEntry& expected) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace troika
