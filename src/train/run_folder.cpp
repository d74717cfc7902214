#include "train/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/durable_file.h"
#include "base/error.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// Returns false if the name is taken. mkdir is atomic, so only one process gets a name.
bool make_new_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  throw file_error("create the run folder", path, errno);
}

bool is_lock(const fs::path& path) { return path.filename().string().starts_with("lock"); }

/// Guards against deleting a folder that is not a run, such as a source tree. A run that failed
/// early has no run.toml yet, but then its folder holds nothing else either.
void require_earlier_run(const fs::path& path) {
  bool is_run = fs::is_regular_file(path / "run.toml") && fs::is_directory(path / "checkpoints");
  bool has_other = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    std::string name = entry.path().filename();
    has_other |= name != "checkpoints" && name != "logs" && !is_lock(entry.path());
  }
  if (!is_run && has_other)
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is not a run folder, so --overwrite does not delete it; "
                            "choose another --name",
                            path.string()));
}

/// Keeps the lock, which the caller holds, and the lock files of processes that try to get it.
void remove_content(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    std::error_code failure;
    if (!is_lock(entry.path())) fs::remove_all(entry.path(), failure);
    if (failure) throw file_error("remove", entry.path(), failure.value());
  }
}

}  // namespace

fs::path RunFolder::wanted_path(const RunConfig& config, const std::string& fallback_name) {
  return fs::path(config.run.folder) / (config.run.name.empty() ? fallback_name : config.run.name);
}

RunFolder RunFolder::create(const RunConfig& config, const std::string& fallback_name,
                            IfTaken if_taken) {
  fs::path wanted = wanted_path(config, fallback_name), path = wanted;
  make_folder(wanted.has_parent_path() ? wanted.parent_path() : fs::path("."));
  for (int number = 2; !make_new_folder(path); ++number) {
    if (if_taken == IfTaken::replace) {
      require_earlier_run(path);
      break;
    }
    path = fmt::format("{}-{}", wanted.string(), number);
  }
  // The lease comes first: it refuses a run that is still being written, before anything is
  // deleted.
  RunFolder folder = open_to_write(path);
  if (if_taken == IfTaken::replace) remove_content(path);
  for (const char* name : {"checkpoints", "logs"}) make_folder(path / name);
  return folder;
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::is_directory(path))
    throw Error(ErrorKind::file,
                fmt::format("'{}' is not a run folder; check the path", path.string()));
  return RunFolder(path);
}

RunFolder RunFolder::open_to_write(const fs::path& path) {
  RunFolder folder = open(path);
  folder.lease_ = std::make_unique<WriterLease>(path);
  return folder;
}

void RunFolder::write(const std::string& name, std::string_view text) const {
  require_writer();
  replace_file(path_ / name, text);
}

void RunFolder::require_writer() const {
  if (lease_) lease_->require();
}

}  // namespace troika
