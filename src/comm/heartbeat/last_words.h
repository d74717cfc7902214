// Ends the process of a rank whose run has failed: writes the reason and the exit code, then exits
// without destructors, because MPI's would wait for lost peers.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "base/mutex.h"
#include "comm/heartbeat/heartbeat_core.h"

namespace troika {

/// The one exception to the rule that libraries neither print nor exit (docs/errors.md): main()
/// waits in MPI for a peer that is gone, and the heartbeat's thread ends the process in its place.
/// Thread-safe.
class LastWords {
 public:
  enum class Opens { now, when_there_is_something_to_say };
  /// Appends to `path`, logs/rank-N of the run; empty for no file. Throws Error(file) if it cannot
  /// be opened now; opened early, it cannot fail at the end.
  explicit LastWords(const std::filesystem::path& path, Opens opens = Opens::now);
  /// Sets the path later: the folder of a run is not known before its files are read.
  void open(const std::filesystem::path& path);
  LastWords(const LastWords&) = delete;
  ~LastWords();

  /// Writes "error: SENTENCE" and "exit code CODE" to the file and the first to stderr, waits until
  /// the other ranks should have done so too, because MPICH kills all of them as soon as one ends,
  /// and ends the process. If several threads call it, the first one writes; the others never
  /// return.
  [[noreturn]] void leave(const Verdict& verdict);
  /// True once a thread has begun to leave. Nothing else should be written to the file from then on.
  bool is_leaving() const { return spoken_.test(); }
  /// Appends a line to the file, if there is one.
  void note(const std::string& line);

 private:
  /// Returns true if there is a file now.
  bool open_late() noexcept TROIKA_REQUIRES(mutex_);

  Mutex mutex_;
  int descriptor_ TROIKA_GUARDED_BY(mutex_) = -1;
  std::filesystem::path late_ TROIKA_GUARDED_BY(mutex_);  // opened on first use
  std::atomic_flag spoken_;
};

}  // namespace troika
