#include "comm/heartbeat/last_words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "base/error.h"

namespace troika {
namespace {

constexpr std::chrono::milliseconds kTimeForOthers{250};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = write(descriptor, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

LastWords::LastWords(const std::filesystem::path& path) { open(path); }

void LastWords::open(const std::filesystem::path& path) {
  if (path.empty() || descriptor_ >= 0) return;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw Error(ErrorKind::file, fmt::format("{} cannot be written", path.string()));
  }
}

LastWords::~LastWords() {
  if (descriptor_ >= 0) close(descriptor_);
}

void LastWords::leave(const std::string& sentence, int code) {
  if (spoken_.test_and_set()) {
    while (true) pause();
  }
  if (descriptor_ >= 0)
    write_all(descriptor_, fmt::format("error: {}\nexit code {}\n", sentence, code));
  write_all(STDERR_FILENO, fmt::format("error: {}\n", sentence));
  std::this_thread::sleep_for(kTimeForOthers);
  _exit(code);
}

}  // namespace troika
