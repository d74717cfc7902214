// The end of a rank whose run has failed: a sentence and an exit code for those who look later, and
// no destructor on the way, since MPI would wait for peers that are gone.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

namespace troika {

/// Opened at the start, so that nothing can go wrong at the end. For main(), not for libraries.
class LastWords {
 public:
  /// Appends to `path`, logs/rank-N of the run; empty for none. Throws Error(file) when it cannot
  /// be opened.
  explicit LastWords(const std::filesystem::path& path);
  /// The same later, where there was none: the folder of a run is not known before its files were
  /// read.
  void open(const std::filesystem::path& path);
  LastWords(const LastWords&) = delete;
  ~LastWords();

  /// Writes "error: SENTENCE" and "exit code CODE" to the file and the first to stderr, waits until
  /// the other ranks should have done so too, because MPICH kills all of them as soon as one ends,
  /// and ends the process. Of several threads that call it one speaks; the others stay inside.
  [[noreturn]] void leave(const std::string& sentence, int code);

 private:
  std::atomic<int> descriptor_ = -1;
  std::atomic_flag spoken_;
};

}  // namespace troika
