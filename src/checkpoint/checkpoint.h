// Reads a checkpoint: the folder step-N with safetensors files and index.json. Checksums cover
// every byte of every file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace troika {

/// A checkpoint open for reading; thread-safe. Every failure throws Error(file) that names the
/// file, the tensor if there is one, and an intact checkpoint in the same folder to use instead.
class Checkpoint {
 public:
  /// Checks the index and the headers of all files. read() checks the values.
  static Checkpoint open(const std::filesystem::path& folder);

  std::int64_t step() const { return index_.step; }
  const std::string& meta_json() const { return index_.meta_json; }
  const std::vector<IndexedTensor>& tensors() const { return index_.tensors; }
  /// Returns null if there is no such tensor.
  const IndexedTensor* find(const std::string& name) const;

  /// Copies a tensor to `bytes`, which must have its size, and checks the copy.
  void read(const std::string& name, std::span<std::byte> bytes) const;
  /// Returns the bytes of a tensor in the mapped file, borrowed and not checked, so that a reader
  /// of a part need not read the rest.
  std::span<const std::byte> bytes(const std::string& name) const;
  /// Checks one tensor without copying.
  void check(const std::string& name) const;
  /// Checks every byte of the checkpoint without copying.
  void verify_all() const;

 private:
  friend std::optional<std::string> checkpoint_fault(const std::filesystem::path& folder);

  explicit Checkpoint(std::filesystem::path folder);
  void open_files();
  void match_tensors();
  const IndexedTensor& get(const std::string& name) const;
  void check_tensor(const IndexedTensor& tensor, std::span<const std::byte> bytes) const;
  void check_all_tensors() const;
  std::span<const std::byte> stored_bytes(const IndexedTensor& tensor) const;

  std::filesystem::path folder_;
  Index index_;
  std::unordered_map<std::string, SafetensorsFile> files_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// Returns why a checkpoint cannot be loaded, or nothing if it is intact. Reads all of it.
std::optional<std::string> checkpoint_fault(const std::filesystem::path& folder);

}  // namespace troika
