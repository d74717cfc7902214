#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "checkpoint/marker.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

/// Far above any real index, so that a wrong file is not read into memory.
constexpr std::size_t kMaxIndex = std::size_t{1} << 30;

/// Names an intact checkpoint to load instead. Reads other checkpoints in full, so it is only for
/// failures.
std::string advice(const fs::path& folder) {
  const fs::path checkpoints = fs::absolute(folder).lexically_normal().parent_path();
  for (std::int64_t step : list_steps(checkpoints)) {
    const fs::path other = step_folder(checkpoints, step);
    if (other.filename() == folder.filename() || checkpoint_fault(other)) continue;
    return fmt::format("use '{}', which is intact",
                       (folder.parent_path() / other.filename()).string());
  }
  return "no other checkpoint in that folder is intact: restore it from a copy, or train again "
         "from "
         "the start";
}

template <class Action>
auto with_advice(const fs::path& folder, Action action) {
  try {
    return action();
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("{}; {}", fault.what(), advice(folder)));
  }
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::file, fmt::format("{}: {}", path.string(), why));
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder) {
  return with_advice(folder, [&] { return Checkpoint(folder); });
}

Checkpoint::Checkpoint(fs::path folder) : folder_(std::move(folder)) {
  const fs::path path = folder_ / "index.json";
  index_ = parse_index(read_small_file(path, kMaxIndex), path.string());
  open_files();
  match_tensors();
}

void Checkpoint::open_files() {
  for (const IndexedFile& file : index_.files) {
    const auto [opened, is_new] = files_.try_emplace(file.name, folder_ / file.name);
    // Before any tensor is looked up: offsets of a damaged header would point to other values.
    if (opened->second.header_checksum() != file.header_checksum) {
      refuse(folder_ / file.name, "its header does not match the checksum in index.json");
    }
  }
}

void Checkpoint::match_tensors() {
  std::size_t stored = 0;
  for (const auto& [name, file] : files_) stored += file.tensors().size();
  // Together with the loop below, which finds each indexed tensor in a file, equal counts mean that
  // no file holds a tensor without a checksum.
  if (stored != index_.tensors.size()) {
    refuse(folder_, fmt::format("its files hold {} tensors, but index.json names {}", stored,
                                index_.tensors.size()));
  }
  for (std::size_t at = 0; at < index_.tensors.size(); ++at) {
    const IndexedTensor& tensor = index_.tensors[at];
    if (!files_.contains(tensor.file)) {
      refuse(folder_ / "index.json",
             fmt::format("tensor '{}' is in file '{}', which it does not list", tensor.name,
                         tensor.file));
    }
    stored_bytes(tensor);  // Throws if the file has another type or shape.
    by_name_[tensor.name] = at;
  }
}

const IndexedTensor* Checkpoint::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &index_.tensors[found->second];
}

const IndexedTensor& Checkpoint::get(const std::string& name) const {
  const IndexedTensor* tensor = find(name);
  if (tensor == nullptr)
    refuse(folder_,
           fmt::format("it has no tensor '{}'; it belongs to another model or optimizer", name));
  return *tensor;
}

void Checkpoint::read(const std::string& name, std::span<std::byte> bytes) const {
  const IndexedTensor& tensor = get(name);
  const std::span<const std::byte> stored = stored_bytes(tensor);
  TROIKA_CHECK_EQ(bytes.size(), stored.size());
  // The copy is checked, not the file, so that a change in between cannot pass unnoticed.
  std::ranges::copy(stored, bytes.begin());
  with_advice(folder_, [&] { check_tensor(tensor, bytes); });
}

std::span<const std::byte> Checkpoint::bytes(const std::string& name) const {
  return stored_bytes(get(name));
}

void Checkpoint::check(const std::string& name) const {
  const IndexedTensor& tensor = get(name);
  with_advice(folder_, [&] { check_tensor(tensor, stored_bytes(tensor)); });
}

void Checkpoint::verify_all() const {
  with_advice(folder_, [&] { check_all_tensors(); });
}

void Checkpoint::check_all_tensors() const {
  for (const IndexedTensor& tensor : index_.tensors) check_tensor(tensor, stored_bytes(tensor));
}

void Checkpoint::check_tensor(const IndexedTensor& tensor, std::span<const std::byte> bytes) const {
  if (checksum(bytes) == tensor.checksum) return;
  refuse(
      folder_ / tensor.file,
      fmt::format("tensor '{}' does not match its checksum: its values were changed", tensor.name));
}

std::span<const std::byte> Checkpoint::stored_bytes(const IndexedTensor& tensor) const {
  return files_.at(tensor.file).bytes(TensorEntry{tensor.name, tensor.spec});
}

std::optional<std::string> checkpoint_fault(const fs::path& folder) {
  try {
    // The private constructor, not open(): advice would call this function again for every other
    // checkpoint.
    Checkpoint(folder).check_all_tensors();
    return std::nullopt;
  } catch (const Error& fault) {
    return fault.what();
  }
}

}  // namespace troika
