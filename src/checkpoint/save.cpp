#include "checkpoint/save.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/durable_file.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "checkpoint/index.h"
#include "checkpoint/marker.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

/// Names must be unique over all files; lay_out checks only one file.
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

/// The index without checksums, which are known after the files are written.
Index blank_index(const Snapshot& snapshot) {
  Index index{.step = snapshot.step, .files = {}, .tensors = {}, .meta_json = snapshot.meta_json};
  for (const std::string& name : file_names(snapshot)) index.files.push_back({name, 0});
  for (const SnapshotTensor& tensor : snapshot.tensors) {
    TensorSpec in_file{tensor.spec.shape.merged(tensor.merged), tensor.spec.dtype};
    index.tensors.push_back({tensor.name, in_file, tensor.file, 0});
  }
  return index;
}

/// A file of the checkpoint: which tensors of the index it holds, and their offsets.
struct FilePlan {
  fs::path path;
  SafetensorsLayout layout;
  /// For each tensor of the index, its index in layout.header.tensors or kElsewhere.
  std::vector<std::size_t> stored_at;
};

constexpr std::size_t kElsewhere = static_cast<std::size_t>(-1);

FilePlan plan_file(const fs::path& folder, const std::string& name, const Index& index) {
  std::vector<TensorEntry> entries;
  std::vector<std::size_t> origin;
  for (std::size_t at = 0; at < index.tensors.size(); ++at) {
    const IndexedTensor& tensor = index.tensors[at];
    if (tensor.file != name) continue;
    entries.push_back({tensor.name, tensor.spec});
    origin.push_back(at);
  }
  const Metadata metadata{{"producer", "troika"}, {"step", std::to_string(index.step)}};
  FilePlan plan{folder / name, lay_out(entries, metadata),
                std::vector<std::size_t>(index.tensors.size(), kElsewhere)};
  // layout.order maps file order to entries of this file, and `origin` those to tensors of the
  // index.
  for (std::size_t at = 0; at < plan.layout.order.size(); ++at)
    plan.stored_at[origin[plan.layout.order[at]]] = at;
  return plan;
}

/// Writes the header and sets the final size, so that all processes can write at their offsets.
void create_file(const FilePlan& plan) {
  OutputFile file(plan.path);
  file.write(plan.layout.header.bytes);
  file.resize(plan.layout.header.file_bytes());
  file.finish();
}

std::vector<SnapshotPart> parts_of(const Snapshot& snapshot) {
  if (snapshot.parts) return *snapshot.parts;
  std::vector<SnapshotPart> parts;
  for (std::size_t at = 0; at < snapshot.tensors.size(); ++at)
    parts.push_back({at, Region::whole(snapshot.tensors[at].spec.shape)});
  return parts;
}

/// Writes the parts of this process into one file.
void write_parts(const FilePlan& plan, const Snapshot& snapshot,
                 const std::vector<SnapshotPart>& parts) {
  OutputFile file(plan.path, OutputFile::Content::kept);
  std::vector<std::byte> buffer;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const auto& [tensor, region] = parts[at];
    if (plan.stored_at[tensor] == kElsewhere) continue;
    const TensorSpec& spec = snapshot.tensors[tensor].spec;
    const StoredTensor& stored = plan.layout.header.tensors[plan.stored_at[tensor]];
    const std::int64_t size = size_of(spec.dtype).count;
    buffer.resize(static_cast<std::size_t>(region.elements() * size));
    // Row-major inside the region; each run of it is contiguous in the file.
    snapshot.read(at, buffer);
    std::size_t done = 0;
    for_each_run(spec.shape, region, [&](std::int64_t offset, std::int64_t length) {
      const auto bytes = static_cast<std::size_t>(length * size);
      file.write_at(stored.begin + static_cast<std::uint64_t>(offset * size),
                    std::span(buffer).subspan(done, bytes));
      done += bytes;
    });
  }
  // Every process syncs, because fsync on a network file system covers what this host wrote.
  file.finish();
}

/// Each process reads and checksums some tensors; afterwards all know all checksums. The files are
/// read again because a tensor may have been written in parts by several processes.
void add_checksums(const std::vector<FilePlan>& plans, const Writers& writers, Index& index) {
  std::string own;
  for (std::size_t file = 0; file < plans.size(); ++file) {
    const FilePlan& plan = plans[file];
    index.files[file].header_checksum =
        checksum(std::as_bytes(std::span(plan.layout.header.bytes)));
    const MappedFile mapped(plan.path);
    for (std::size_t at = 0; at < plan.stored_at.size(); ++at) {
      // Tensor `at` belongs to rank at % count, so each is read once.
      if (plan.stored_at[at] == kElsewhere || static_cast<int>(at) % writers.count != writers.rank)
        continue;
      const StoredTensor& stored = plan.layout.header.tensors[plan.stored_at[at]];
      own += fmt::format("{} {}\n", at,
                         checksum(mapped.bytes().subspan(stored.begin, stored.end - stored.begin)));
    }
  }
  for (const std::string& text : writers.exchange(own)) {
    std::istringstream lines(text);
    std::size_t at = 0;
    for (std::uint64_t sum = 0; lines >> at >> sum;) index.tensors.at(at).checksum = sum;
  }
}

void write_index(const fs::path& folder, const Index& index) {
  OutputFile file(folder / "index.json");
  file.write(to_text(index));
  file.finish();
}

/// Returns the path of the new checkpoint, after removing leftovers of killed saves.
fs::path begin_folder(const fs::path& checkpoints, std::int64_t step) {
  make_folder(checkpoints);
  remove_partials(checkpoints);
  return step_folder(checkpoints, step);
}

}  // namespace

void save_checkpoint(const fs::path& checkpoints, const Snapshot& snapshot, const Writers& given) {
  TROIKA_CHECK(snapshot.step >= 0);
  check_names(snapshot);
  Writers writers = given;
  if (!writers.exchange)
    writers.exchange = [](const std::string& text) { return std::vector<std::string>{text}; };
  const bool is_first = writers.rank == 0;
  std::optional<Partial> partial;
  if (is_first) {
    partial.emplace(begin_folder(checkpoints, snapshot.step));
    make_folder(partial->path());
  }
  // The temporary name contains the process id of rank 0, so the others must be told.
  const fs::path folder = writers.exchange(partial ? partial->path().string() : "").front();

  // Every process computes the same layout from the same snapshot, so no offsets are exchanged.
  Index index = blank_index(snapshot);
  std::vector<FilePlan> plans;
  for (const IndexedFile& file : index.files) plans.push_back(plan_file(folder, file.name, index));
  if (is_first)
    for (const FilePlan& plan : plans) create_file(plan);
  writers.exchange("created");  // No process may open a file before rank 0 has created it.
  const std::vector<SnapshotPart> parts = parts_of(snapshot);
  for (const FilePlan& plan : plans) write_parts(plan, snapshot, parts);
  writers.exchange("written");  // Checksums need the parts of all processes.
  add_checksums(plans, writers, index);
  if (is_first) {
    // The index is last inside the folder, and `latest` moves only after the folder has its final
    // name: a kill in between leaves `latest` at the checkpoint before.
    write_index(folder, index);
    partial->publish();
    write_marker(checkpoints, kLatest, snapshot.step);
  }
  writers.exchange("published");  // On return the checkpoint exists for every process.
}

}  // namespace troika
