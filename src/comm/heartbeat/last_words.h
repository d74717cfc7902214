// The end of a rank whose run has failed: a sentence and an exit code for those who look later, and
// no destructor on the way, since MPI would wait for peers that are gone.
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
  /// Appends to `path`, logs/rank-N of the run; empty for none. Opened now nothing can go wrong at
  /// the end; throws Error(file) when it cannot be.
  explicit LastWords(const std::filesystem::path& path, Opens opens = Opens::now);
  /// The same later, where there was none: the folder of a run is not known before its files were
  /// read.
  void open(const std::filesystem::path& path);
  LastWords(const LastWords&) = delete;
  ~LastWords();

  /// Writes "error: SENTENCE" and "exit code CODE" to the file and the first to stderr, waits until
  /// the other ranks should have done so too, because MPICH kills all of them as soon as one ends,
  /// and ends the process. Of several threads that call it one speaks; the others stay inside.
  [[noreturn]] void leave(const Verdict& verdict);
  /// Adds a line to the file, if there is to be one.
  void note(const std::string& line);

 private:
  /// Whether there is a file now.
  bool open_late() noexcept TROIKA_REQUIRES(mutex_);

  Mutex mutex_;
  int descriptor_ TROIKA_GUARDED_BY(mutex_) = -1;
  std::filesystem::path late_ TROIKA_GUARDED_BY(mutex_);  // opened when it is needed
  std::atomic_flag spoken_;
};

}  // namespace troika
