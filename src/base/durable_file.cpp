#include "base/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "base/units.h"

namespace troika {

namespace fs = std::filesystem;

namespace {

// remove_partials finds leftovers by this mark; the process id keeps two runs apart.
constexpr std::string_view kPartialMark = ".partial-";

/// EFBIG comes from the limit of this process or from the file system, whose limit cannot be
/// queried.
std::string file_size_remedy() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return "write to a disk whose file system allows larger files";
  return fmt::format("this process may write files of at most {}; raise the limit with ulimit -f",
                     to_string(Bytes{static_cast<std::int64_t>(limit.rlim_cur)}));
}

std::string remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or keep fewer checkpoints";
    case EFBIG:
      return file_size_remedy();
    case EACCES:
    case EPERM:
    case EROFS:
      return "make the folder writable for this user, or choose another one";
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EIO:
      return "check the disk";
    default:
      return "check the path and the disk it is on";
  }
}

fs::path partial_name(const fs::path& target) {
  // In the folder of the target, because rename(2) does not cross file systems.
  return fs::path(target.string() + std::string(kPartialMark) + std::to_string(::getpid()));
}

void remove_tree(const fs::path& path) {
  std::error_code status;
  fs::remove_all(path, status);
  if (status) throw file_error("remove", path, status.value());
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void sync_folder(const fs::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) throw file_error("open the folder", folder, errno);
  // Saved before close(), which may change errno.
  const int code = ::fsync(handle) == 0 ? 0 : errno;
  ::close(handle);
  // Some network file systems cannot sync a folder and fail with EINVAL; their renames are
  // synchronous.
  if (code != 0 && code != EINVAL) throw file_error("sync the folder", folder, code);
}

/// rename(2) cannot replace a folder that is not empty, so the two exchange names. If the file
/// system cannot do that atomically, the old folder is moved aside first.
void swap_folders(const fs::path& fresh, const fs::path& old) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw file_error("replace", old, errno);
  // Between the first two renames the name does not exist. `aside` has the mark of a partial, and
  // the last rename gives it the name that the destructor of Partial removes.
  const fs::path aside = fresh.string() + "-old";
  if (::rename(old.c_str(), aside.c_str()) != 0) throw file_error("replace", old, errno);
  if (::rename(fresh.c_str(), old.c_str()) != 0) throw file_error("replace", old, errno);
  if (::rename(aside.c_str(), fresh.c_str()) != 0) throw file_error("replace", old, errno);
}

}  // namespace

Error file_error(std::string_view action, const fs::path& path, int code) {
  return {ErrorKind::file, fmt::format("cannot {} '{}': {}; {}", action, path.string(),
                                       std::generic_category().message(code), remedy(code))};
}

OutputFile::OutputFile(fs::path path, Content content) : path_(std::move(path)) {
  const bool is_new = content == Content::none;
  const int flags = O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_TRUNC : 0) |
                    (content == Content::appended ? O_APPEND : 0);
  handle_ = ::open(path_.c_str(), flags, 0666);
  if (handle_ < 0) throw file_error(is_new ? "create" : "open", path_, errno);
}

OutputFile::~OutputFile() {
  if (handle_ >= 0) ::close(handle_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // write(2) may be interrupted and may write less than asked: on Linux at most 0x7ffff000 bytes,
    // just under 2 GiB, per call.
    const ssize_t written = ::write(handle_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(handle_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::resize(std::uint64_t bytes) {
  if (::ftruncate(handle_, static_cast<off_t>(bytes)) != 0) throw file_error("write", path_, errno);
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::finish() {
  // Before close(), because only these two report errors of writes that the kernel had postponed.
  if (::fsync(handle_) != 0) throw file_error("sync", path_, errno);
  if (::close(std::exchange(handle_, -1)) != 0) throw file_error("close", path_, errno);
}

Partial::Partial(fs::path target) : target_(std::move(target)), path_(partial_name(target_)) {
  // A killed process of the same id may have left one.
  remove_tree(path_);
}

Partial::~Partial() {
  std::error_code ignored;  // remove_partials() of the next save tries again.
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

// The order matters: the entries of a new folder are synced before its name appears, and the name
// is synced last. OutputFile::finish has synced the content of the files before.
void Partial::publish() {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path_, ignored);
  if (is_folder) sync_folder(path_);
  if (is_folder && fs::is_directory(target_, ignored)) {
    // The old folder now has the temporary name, under which the destructor removes it.
    swap_folders(path_, target_);
  } else if (::rename(path_.c_str(), target_.c_str()) != 0) {
    throw file_error("rename to", target_, errno);
  }
  sync_folder(folder_of(target_));
}

void replace_file(const fs::path& path, std::string_view content) {
  Partial partial(path);
  OutputFile file(partial.path());
  file.write(content);
  file.finish();
  partial.publish();
}

void remove_folder(const fs::path& folder) {
  // With the mark in its name, remove_partials finishes the work if the process dies in between.
  const fs::path nameless = partial_name(folder);
  remove_tree(nameless);
  if (::rename(folder.c_str(), nameless.c_str()) != 0) throw file_error("remove", folder, errno);
  remove_tree(nameless);
}

void make_folder(const fs::path& folder) {
  std::error_code status;
  if (fs::is_directory(folder, status)) return;
  const fs::path above = folder_of(folder);
  // The parent of "/" is "/" itself.
  if (above != folder) make_folder(above);
  fs::create_directory(folder, status);
  if (status) throw file_error("create the folder", folder, status.value());
  sync_folder(above);
}

void remove_partials(const fs::path& folder) {
  std::error_code status;
  // Collected first: whether an iterator shows entries that are removed meanwhile is unspecified.
  std::vector<fs::path> partials;
  for (fs::directory_iterator at(folder, status), end; !status && at != end; at.increment(status)) {
    if (at->path().filename().string().find(kPartialMark) != std::string::npos)
      partials.push_back(at->path());
  }
  if (status) throw file_error("list the folder", folder, status.value());
  for (const fs::path& partial : partials) remove_tree(partial);
}

}  // namespace troika
