// For tests: the program as a user starts it, in a folder of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/temporary_folder.h"

namespace troika {

namespace fs = std::filesystem;

struct Result {
  int code;
  std::string out;
  std::string err;
};

/// The test lies in BUILD/tests, the program in BUILD.
inline fs::path program() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "troika";
}

inline std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline constexpr const char* kRunFile = R"([model]
name = "mlp"
hidden = 32
layers = 1

[data]
train = "digits:train?size=400"
test = "digits:test?size=100"

[train]
global_batch = 20
epochs = 3

[optimizer]
learning_rate = 0.02
momentum = 0.9

[parallel]
threads = 1

[log]
every = "5 steps"
)";

/// Where its output goes, relative to the test's folder, and the largest file it may write.
struct Streams {
  std::string out = "out";
  std::string err = "err";
  rlim_t file_limit = RLIM_INFINITY;
};

class CommandLine : public testing::Test {
 protected:
  CommandLine() { folder_.write("tiny.toml", kRunFile); }

  /// Starts the program in the test's folder.
  pid_t start(const std::vector<std::string>& arguments, const Streams& streams = {}) {
    std::string name = program().string();
    std::vector<char*> words{name.data()};
    std::vector<std::string> copies = arguments;
    for (std::string& copy : copies) words.push_back(copy.data());
    words.push_back(nullptr);
    pid_t child = fork();
    if (child != 0) return child;
    bool ready = chdir(folder_.path().c_str()) == 0;
    int out = open(streams.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
        err = open(streams.err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!ready || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(99);
    rlimit limit{streams.file_limit, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(99);
    execv(name.c_str(), words.data());
    _exit(99);
  }

  Result wait_for(pid_t child, const Streams& streams = {}) {
    int status = 0;
    waitpid(child, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    bool kept = !streams.out.starts_with("/dev/");
    return {code, kept ? read_text(path(streams.out)) : "", read_text(path(streams.err))};
  }

  Result run(const std::vector<std::string>& arguments, const Streams& streams = {}) {
    return wait_for(start(arguments, streams), streams);
  }

  /// Waits until the text stands in a file of the run, at most a minute.
  bool appears(const std::string& file, const std::string& text) {
    for (int tries = 0; tries < 1200; ++tries) {
      if (read_text(path(file)).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  fs::path path(const std::string& name) const { return folder_.path() / name; }

  std::string metrics_without_times(const std::string& run) {
    std::istringstream lines(read_text(path(run + "/metrics.jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      auto json = nlohmann::ordered_json::parse(line);
      for (const char* name : {"samples_per_second", "step_ms", "data_wait"}) json.erase(name);
      text += json.dump() + "\n";
    }
    return text;
  }

  cli::TemporaryFolder folder_;
};

}  // namespace troika
