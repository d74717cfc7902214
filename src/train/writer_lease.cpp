#include "train/writer_lease.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/durable_file.h"
#include "base/error.h"
#include "machine/computer.h"
#include "setup/hosts.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using Milliseconds = std::chrono::milliseconds;

/// Owner of a lease, as written in the file.
struct LeaseOwner {
  std::string host = "an unknown host";
  std::int64_t process = 0;
  std::string started;
  std::string boot;       ///< Boot id: differs between computers and between boots of one.
  std::string processes;  ///< The PID namespace of `process`.
};

/// A file handle, closed by the destructor.
struct LeaseFile {
  int handle = -1;

  explicit LeaseFile(int opened) : handle(opened) {}
  LeaseFile(const LeaseFile&) = delete;
  LeaseFile& operator=(const LeaseFile&) = delete;
  ~LeaseFile() {
    if (handle >= 0) ::close(handle);
  }
};

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// A process number is unique only within its PID namespace, and containers have their own.
std::string process_namespace() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/ns/pid", unknown).string();
}

LeaseOwner this_process() {
  return {.host = host_name(),
          .process = ::getpid(),
          .started = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr))),
          .boot = boot_id(),
          .processes = process_namespace()};
}

std::string lease_text(const LeaseOwner& owner) {
  return nlohmann::ordered_json{{"host", owner.host},
                                {"process", owner.process},
                                {"started", owner.started},
                                {"boot", owner.boot},
                                {"processes", owner.processes}}
             .dump() +
         "\n";
}

LeaseOwner read_owner(const fs::path& path) {
  // A lease that another program wrote, or that a full disk cut off, has an unknown owner.
  auto json = nlohmann::json::parse(first_line(path), nullptr, false);
  if (!json.is_object()) return {};
  auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  LeaseOwner owner{.host = text("host"),
                   .started = text("started"),
                   .boot = text("boot"),
                   .processes = text("processes")};
  if (json.contains("process") && json["process"].is_number_integer())
    owner.process = json["process"];
  return owner;
}

std::string name_of(const LeaseOwner& owner) {
  return fmt::format("process {} on {}", owner.process, owner.host);
}

/// A stopped process (SIGSTOP) keeps its lock but cannot obey a stop file. Returns false for a
/// process of another computer or container, whose number has no meaning here.
bool is_stopped(const LeaseOwner& owner) {
  LeaseOwner own = this_process();
  if (owner.boot != own.boot || owner.processes != own.processes) return false;
  std::string stat = first_line(fmt::format("/proc/{}/stat", owner.process));
  std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] == 'T';
}

Milliseconds modified(int handle) {
  struct stat status {};
  ::fstat(handle, &status);
  return Milliseconds{status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000};
}

bool is_same_file(int handle, const fs::path& path) {
  // Opened again, because a network file system may answer a plain stat from its cache.
  LeaseFile current(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat a {
  }, b{};
  // Other errors, such as a network disk that is away for a moment, do not mean that the lease is
  // lost.
  if (current.handle < 0) return errno != ENOENT && errno != ESTALE;
  return ::fstat(handle, &a) == 0 && ::fstat(current.handle, &b) == 0 && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

/// Renames the file unless the name is taken. NFS supports only link(), and file systems without
/// hard links only renameat2().
bool rename_if_free(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (::link(from.c_str(), to.c_str()) != 0) {
    if (errno == EEXIST) return false;
    throw file_error("create", to, errno);
  }
  ::unlink(from.c_str());
  return true;
}

std::string seconds_text(Milliseconds time) { return fmt::format("{} s", time.count() / 1000); }

[[noreturn]] void refuse(const fs::path& folder, const LeaseOwner& owner, const std::string& more) {
  throw Error(ErrorKind::usage,
              fmt::format("the run folder '{}' is being written by {}, since {}; {}",
                          folder.string(), name_of(owner), owner.started, more));
}

std::string advice(const fs::path& folder, const LeaseOwner& owner) {
  if (is_stopped(owner))
    return fmt::format(
        "it is stopped: let it continue with kill -CONT {0}, or end it with kill {0}",
        owner.process);
  return fmt::format("wait until it ends, or ask it to stop with: touch {}/stop", folder.string());
}

}  // namespace

WriterLease::WriterLease(fs::path folder, Times times)
    : folder_(std::move(folder)), path_(folder_ / "lock") {
  LeaseOwner own = this_process();
  // The lease is written and locked under a name of its own and then renamed, so that the name
  // "lock" never stands for a file that is empty or not locked yet.
  fs::path fresh = folder_ / fmt::format("lock.{}.{}", own.host, own.process);
  handle_ = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (handle_ < 0) throw file_error("create", fresh, errno);
  try {
    std::string text = lease_text(own);
    if (::write(handle_, text.data(), text.size()) != std::ssize(text))
      throw file_error("write", fresh, errno);
    ::flock(handle_, LOCK_EX | LOCK_NB);  // fails only on file systems without locks
    acquire(fresh, times);
  } catch (...) {
    ::unlink(fresh.c_str());
    ::close(handle_);
    throw;
  }
  // After the try block: a lease that was refused must not be renewed.
  heart_ = std::jthread([this, times](const std::stop_token& stop) { keep_alive(stop, times); });
}

WriterLease::~WriterLease() {
  // The thread uses handle_, so it ends before the file is closed.
  heart_ = {};
  // A lease that was taken over belongs to its new owner.
  if (is_ours()) ::unlink(path_.c_str());
  ::close(handle_);
}

void WriterLease::acquire(const fs::path& fresh, Times times) {
  while (!rename_if_free(fresh, path_))
    if (try_take_over(fresh, times)) return;
}

/// Returns false if the owner changed in the meantime; the caller then tries again.
bool WriterLease::try_take_over(const fs::path& fresh, Times times) {
  LeaseFile found(::open(path_.c_str(), O_RDWR | O_CLOEXEC));  // flock over NFS needs write access
  if (found.handle < 0 && errno == ENOENT) return false;
  if (found.handle < 0) throw file_error("open", path_, errno);
  // A lock that is free proves that the owner has ended, but only on the owner's own computer: some
  // network file systems do not pass locks on.
  bool is_locked = ::flock(found.handle, LOCK_EX | LOCK_NB) == 0;
  int code = is_locked ? 0 : errno;
  LeaseOwner owner = read_owner(path_);
  // Between open and flock another process may have replaced the lease. The text was read by name
  // before this check, so both belong to the same file.
  if (!is_same_file(found.handle, path_)) return false;
  if (code == EWOULDBLOCK) refuse(folder_, owner, advice(folder_, owner));
  // Both times were set by the file system, so the clock of this computer does not matter.
  Milliseconds silent = modified(handle_) - modified(found.handle);
  bool is_of_this_computer = !owner.boot.empty() && owner.boot == this_process().boot;
  if (!(is_locked && is_of_this_computer) && silent < times.stale)
    refuse(folder_, owner,
           fmt::format("it was last seen {} ago; if it is gone, try again in {}",
                       seconds_text(silent), seconds_text(times.stale - silent + times.beat)));
  // The lease is replaced by a new file, so that an owner that wakes up finds another inode under
  // the name. If two computers do this at once the last one wins, and the other notices before it
  // writes.
  if (::rename(fresh.c_str(), path_.c_str()) != 0) throw file_error("replace", path_, errno);
  takeover_ = fmt::format("took over the run folder from {}, which {}", name_of(owner),
                          is_locked && is_of_this_computer
                              ? "ended without closing it"
                              : fmt::format("was last seen {} ago", seconds_text(silent)));
  return true;
}

bool WriterLease::is_ours() const { return is_same_file(handle_, path_); }

void WriterLease::require() const {
  if (is_ours()) return;
  if (!fs::exists(path_))
    throw Error(ErrorKind::file,
                fmt::format("the file '{}' was removed while this process was writing the run "
                            "folder, so another process may be writing it too; nothing more was "
                            "written; continue with: troika train --resume {}",
                            path_.string(), folder_.string()));
  throw Error(ErrorKind::file,
              fmt::format("{} has taken over the run folder '{}' while this process was stopped; "
                          "nothing more was written here, the other process continues the run",
                          name_of(read_owner(path_)), folder_.string()));
}

void WriterLease::keep_alive(const std::stop_token& stop, Times times) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!woken.wait_for(lock, stop, times.beat, [&] { return stop.stop_requested(); }))
    ::futimens(handle_, nullptr);  // by handle, so a lease that replaced this one is not renewed
}

}  // namespace troika
