#include "comm/heartbeat/last_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/printable.h"

namespace troika {
namespace {

/// Time for the other ranks to write their own last words before the launcher kills them.
constexpr std::chrono::milliseconds kTimeForOthers{250};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(descriptor, text.data(), text.size());
    // Nothing can be done about an error here: the process is about to end.
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

int open_file(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  // O_APPEND: a resumed run continues the log, and each write goes to the current end.
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

}  // namespace

LastWords::LastWords(const std::filesystem::path& path, Opens opens) {
  if (opens == Opens::now) {
    open(path);
  } else {
    late_ = path;
  }
}

void LastWords::open(const std::filesystem::path& path) {
  Lock lock(mutex_);
  if (path.empty() || descriptor_ >= 0) return;
  descriptor_ = open_file(path);
  if (descriptor_ < 0) {
    throw Error(
        ErrorKind::file,
        fmt::format("cannot write '{}'; check the path and its permissions", path.string()));
  }
}

LastWords::~LastWords() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LastWords::open_late() noexcept {
  if (descriptor_ < 0 && !late_.empty()) descriptor_ = open_file(late_);
  return descriptor_ >= 0;
}

void LastWords::note(const std::string& line) {
  Lock lock(mutex_);
  if (open_late()) write_all(descriptor_, line + "\n");
}

void LastWords::leave(const Verdict& verdict) {
  if (spoken_.test_and_set()) {
    // The first caller ends the process; by returning, this thread might destroy what that one
    // uses.
    while (true) pause();
  }
  // The sentence may quote a peer or a file, whose control characters must not reach the terminal.
  std::string sentence = printable(verdict.sentence);
  note(fmt::format("error: {}\nexit code {}", sentence, verdict.exit_code));
  write_all(STDERR_FILENO, fmt::format("error: {}\n", sentence));
  std::this_thread::sleep_for(kTimeForOthers);
  // Not exit: destructors and exit handlers, MPI's among them, may wait for peers that are gone.
  _exit(verdict.exit_code);
}

}  // namespace troika
