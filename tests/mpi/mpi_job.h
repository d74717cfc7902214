// A job of mpirun as a test sees it: started in a folder of its own, watched, and ended for
// certain.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/testing/temporary_folder.h"

namespace troika {

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Whether it became true in time.
inline bool wait_until(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class MpiJob {
 public:
  /// Plays a scene of mpi_rank.
  MpiJob(int ranks, const std::vector<std::string>& scene) : ranks_(ranks) {
    std::vector<std::string> words{program().string(), folder_.path().string()};
    words.insert(words.end(), scene.begin(), scene.end());
    start(words);
  }
  /// Runs the product itself, in the folder of the job.
  struct Troika {
    std::vector<std::string> words;
  };
  MpiJob(int ranks, const Troika& troika) : ranks_(ranks) {
    std::vector<std::string> words{troika_program().string()};
    words.insert(words.end(), troika.words.begin(), troika.words.end());
    start(words);
  }
  MpiJob(const MpiJob&) = delete;
  ~MpiJob() {
    for (int rank = 0; rank < ranks_; ++rank) send(rank, SIGKILL);
    if (child_ <= 0) return;
    kill(-child_, SIGTERM);
    wait_until(std::chrono::seconds(5), [&] { return ended(); });
    if (child_ > 0) kill(-child_, SIGKILL), waitpid(child_, nullptr, 0);
  }

  /// MPICH's kills the others at once, and without a warning, when one was killed.
  static bool launcher_kills_survivors() { return std::string(TROIKA_MPI_LIBRARY) == "mpich"; }
  static bool launcher_is_there() { return access(TROIKA_MPIRUN, X_OK) == 0; }

  static std::filesystem::path troika_program() {
    return program().parent_path().parent_path() / "troika";
  }

  /// The exit code of mpirun; -1 when it did not end in time.
  int wait(std::chrono::seconds limit) {
    return wait_until(limit, [&] { return ended(); }) ? code_ : -1;
  }
  std::string output() const { return read_text(folder_.path() / "output"); }
  std::string last_words(int rank) const {
    return read_text(folder_.path() / ("rank-" + std::to_string(rank)));
  }
  /// Whether the rank has said how it ended.
  bool has_left(int rank, int code = 5) const {
    return last_words(rank).ends_with("exit code " + std::to_string(code) + "\n");
  }
  /// From the moment that a rank announced its odd call to the last words of another.
  std::chrono::milliseconds time_to_leave(int odd, int rank) const {
    auto written = [&](const std::string& name) {
      return std::filesystem::last_write_time(folder_.path() / name);
    };
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        written("rank-" + std::to_string(rank)) - written("odd-" + std::to_string(odd)));
  }
  /// logs/rank-N, where the product writes without a run folder.
  std::string log(int rank) const {
    return read_text(folder_.path() / "logs" / ("rank-" + std::to_string(rank)));
  }
  bool is_at_work(int rank) const { return std::filesystem::exists(pid_file(rank)); }
  bool all_at_work() const {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!is_at_work(rank)) return false;
    }
    return true;
  }
  /// The ranks of the product that run now.
  std::vector<pid_t> troika_ranks() const {
    std::vector<pid_t> found;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
      pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || std::filesystem::read_symlink(entry.path() / "exe", gone) != troika_program())
        continue;
      if (descends_from_launcher(pid)) found.push_back(pid);
    }
    return found;
  }
  /// The process of a rank of the product; 0 when it does not run.
  pid_t troika_rank(int rank) const {
    for (pid_t pid : troika_ranks()) {
      std::string environment = read_text("/proc/" + std::to_string(pid) + "/environ");
      for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
        std::size_t at = environment.find(name + std::to_string(rank) + '\0');
        if (at != environment.npos) return pid;
      }
    }
    return 0;
  }
  /// The launcher, which forwards some signals to all ranks.
  pid_t launcher_process() const { return child_; }
  /// To a rank that has told its process, if that is still the one.
  void send(int rank, int signal) const {
    std::string text = read_text(pid_file(rank));
    if (text.empty()) return;
    std::error_code gone;
    auto runs = std::filesystem::read_symlink("/proc/" + text + "/exe", gone);
    if (!gone && runs == program()) kill(std::stoi(text), signal);
  }

 private:
  void start(const std::vector<std::string>& program_words) {
    std::vector<std::string> words = launcher();
    // Jobs that begin at the same moment fail if Open MPI makes one folder for all of them.
    if (!launcher_kills_survivors())
      words.insert(words.end(), {"--mca", "orte_tmpdir_base", folder_.path().string()});
    words.insert(words.end(), {"-n", std::to_string(ranks_)});
    words.insert(words.end(), program_words.begin(), program_words.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::string output = (folder_.path() / "output").string();
    child_ = fork();
    if (child_ != 0) return;
    setpgid(0, 0);
    int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO), dup2(file, STDERR_FILENO);
    if (chdir(folder_.path().c_str()) != 0) _exit(98);
    execv(pointers[0], pointers.data());
    _exit(99);
  }
  bool descends_from_launcher(pid_t pid) const {
    while (pid > 1 && pid != child_) {
      std::string text = read_text("/proc/" + std::to_string(pid) + "/stat");
      std::size_t name_end = text.rfind(") ");  // PID (NAME) STATE PARENT
      if (name_end == text.npos) return false;
      pid = std::atoi(text.c_str() + name_end + 4);
    }
    return pid == child_;
  }
  std::filesystem::path pid_file(int rank) const {
    return folder_.path() / ("pid-" + std::to_string(rank));
  }
  static std::filesystem::path program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "mpi_rank";
  }
  /// With what root, few cores and no ssh need.
  static std::vector<std::string> launcher() {
    if (launcher_kills_survivors()) return {TROIKA_MPIRUN};
    return {TROIKA_MPIRUN,
            "--allow-run-as-root",
            "--oversubscribe",
            "--mca",
            "plm",
            "isolated",
            "--mca",
            "pml",
            "ob1",
            "--mca",
            "btl",
            "self,vader",
            "--mca",
            "mpi_yield_when_idle",
            "1"};
  }
  bool ended() {
    int status = 0;
    if (child_ <= 0) return true;
    if (waitpid(child_, &status, WNOHANG) != child_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    child_ = -1;
    return true;
  }

  int ranks_;
  cli::TemporaryFolder folder_;
  pid_t child_ = -1;
  int code_ = -1;
};

}  // namespace troika
