// A checkpoint: the folder step-N with safetensors files and index.json. Every byte of every file
// is under some checksum.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace troika {

/// A checkpoint open for reading; thread-safe. Every failure is an Error(file) that names the file,
/// the tensor where it is one, and another checkpoint beside it that is whole, if there is one.
class Checkpoint {
 public:
  /// Checks the index and the headers of all files; values are checked when they are read.
  static Checkpoint open(const std::filesystem::path& folder);

  std::int64_t step() const { return index_.step; }
  const std::string& meta_json() const { return index_.meta_json; }
  const std::vector<IndexedTensor>& tensors() const { return index_.tensors; }
  /// Null when there is no such tensor.
  const IndexedTensor* find(const std::string& name) const;

  /// Copies a tensor out and checks what was copied. `bytes` must have the tensor's size.
  void read(const std::string& name, std::span<std::byte> bytes) const;
  /// The bytes of a tensor in the mapped file, borrowed and not checked: who needs a part reads no
  /// more than that. The tensor must be there.
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

/// Why a checkpoint cannot be loaded, or nothing when every byte of it is good. Reads all of it.
std::optional<std::string> checkpoint_fault(const std::filesystem::path& folder);

}  // namespace troika
