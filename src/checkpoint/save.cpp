#include "checkpoint/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/durable_file.h"
#include "checkpoint/index.h"
#include "checkpoint/marker.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

/// Names must differ over all files; within a file the layout checks them again.
void check_names(const Snapshot& snapshot) {
  std::set<std::string_view> names;
  for (const SnapshotTensor& tensor : snapshot.tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ErrorKind::usage,
                  fmt::format("two tensors are named '{}'; give each its own name", tensor.name));
    }
    TROIKA_CHECK(is_plain_file_name(tensor.file), tensor.file);
  }
}

std::vector<std::string> file_names(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const SnapshotTensor& tensor : snapshot.tensors) {
    if (std::ranges::find(names, tensor.file) == names.end()) names.push_back(tensor.file);
  }
  return names;
}

/// Everything is known but the checksums, which come as the files are written.
Index blank_index(const Snapshot& snapshot) {
  Index index{.step = snapshot.step, .files = {}, .tensors = {}, .meta_json = snapshot.meta_json};
  for (const std::string& name : file_names(snapshot)) index.files.push_back({name, 0});
  for (const SnapshotTensor& tensor : snapshot.tensors)
    index.tensors.push_back({tensor.name, tensor.spec, tensor.file, 0});
  return index;
}

void write_file(const fs::path& folder, IndexedFile& file, Index& index,
                const TensorSource& source) {
  std::vector<TensorEntry> entries;
  std::vector<std::size_t> origin;
  for (std::size_t at = 0; at < index.tensors.size(); ++at) {
    const IndexedTensor& tensor = index.tensors[at];
    if (tensor.file != file.name) continue;
    entries.push_back({tensor.name, tensor.spec});
    origin.push_back(at);
  }
  const Metadata metadata{{"producer", "troika"}, {"step", std::to_string(index.step)}};
  const WrittenChecksums checksums = write_safetensors(
      folder / file.name, lay_out(entries, metadata),
      [&](std::size_t entry, std::span<std::byte> bytes) { source(origin[entry], bytes); });
  file.header_checksum = checksums.header;
  for (std::size_t entry = 0; entry < entries.size(); ++entry)
    index.tensors[origin[entry]].checksum = checksums.tensors[entry];
}

void write_index(const fs::path& folder, const Index& index) {
  OutputFile file(folder / "index.json");
  file.write(to_text(index));
  file.finish();
}

}  // namespace

void save_checkpoint(const fs::path& checkpoints, const Snapshot& snapshot) {
  TROIKA_CHECK(snapshot.step >= 0);
  check_names(snapshot);
  make_folder(checkpoints);
  remove_partials(checkpoints);
  Partial partial(step_folder(checkpoints, snapshot.step));
  make_folder(partial.path());
  Index index = blank_index(snapshot);
  for (IndexedFile& file : index.files) write_file(partial.path(), file, index, snapshot.read);
  write_index(partial.path(), index);
  partial.publish();
  write_marker(checkpoints, kLatest, snapshot.step);
}

}  // namespace troika
