// For tests: runs the program as a user does, in a temporary folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/testing/temporary_folder.h"

namespace troika {

namespace fs = std::filesystem;

struct Result {
  int code;
  std::string out;
  std::string err;
};

/// The test is in BUILD/tests, the program in BUILD.
inline fs::path program() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "troika";
}

inline std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// How a process is started. Paths are relative to the test's folder.
struct Start {
  std::string folder = ".";  ///< Working directory.
  std::string out = "out", err = "err";
  rlim_t file_limit = RLIM_INFINITY;  ///< Largest size of a file that it writes.
};

class ProgramTest : public testing::Test {
 protected:
  pid_t start(std::vector<std::string> arguments, const Start& how = {}) {
    arguments.insert(arguments.begin(), program().string());
    return start_process(std::move(arguments), how);
  }

  /// The first word is the path of an executable file.
  pid_t start_process(std::vector<std::string> command, const Start& how) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    pid_t child = fork();
    if (child != 0) return child;
    bool ready = chdir(path(how.folder).c_str()) == 0;
    int out = open(path(how.out).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
        err = open(path(how.err).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!ready || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(99);
    rlimit limit{how.file_limit, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(99);
    execv(words[0], words.data());
    _exit(99);
  }

  Result wait_for(pid_t child, const Start& how = {}) {
    int status = 0;
    waitpid(child, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    bool kept = !how.out.starts_with("/dev/");
    return {code, kept ? read_text(path(how.out)) : "", read_text(path(how.err))};
  }

  Result run(const std::vector<std::string>& arguments, const Start& how = {}) {
    return wait_for(start(arguments, how), how);
  }

  fs::path path(const std::string& name) const { return folder_.path() / name; }

  cli::TemporaryFolder folder_;
};

}  // namespace troika
