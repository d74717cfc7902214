// One writer per run folder: a lock for processes of one computer, and a lease for file systems on
// which locks do not reach other computers.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace troika {

/// The right to write into a folder, held from construction to destruction. It is the file
/// FOLDER/lock, which names host, process and start of its owner, is locked by flock, and whose
/// modification time is renewed while the owner runs. Thread-safe.
class WriterLease {
 public:
  struct Times {
    std::chrono::milliseconds beat{10'000};   ///< Between two renewals.
    std::chrono::milliseconds stale{60'000};  ///< Without renewal, the owner counts as gone.
  };

  /// Throws Error(usage) naming host and process if another owner is alive, Error(file) if the
  /// folder cannot be written. The lease of an owner that is gone is taken over: one of this
  /// computer is gone when its flock is free, one of another when it is stale by the clock of the
  /// file system, so clocks of computers need not agree.
  explicit WriterLease(std::filesystem::path folder, Times times);
  explicit WriterLease(std::filesystem::path folder) : WriterLease(std::move(folder), Times{}) {}
  WriterLease(const WriterLease&) = delete;
  WriterLease& operator=(const WriterLease&) = delete;
  ~WriterLease();

  /// Throws Error(file) once another process has taken the lease over, as happens to one that was
  /// stopped for longer than Times::stale. Called before each write.
  void require() const;

  /// A sentence about the owner from whom the lease was taken over; empty if there was none.
  const std::string& takeover() const { return takeover_; }

 private:
  void acquire(const std::filesystem::path& fresh, Times times);
  bool try_take_over(const std::filesystem::path& fresh, Times times);
  bool is_ours() const;
  void keep_alive(const std::stop_token& stop, Times times);

  // Constant after construction.
  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::string takeover_;
  int handle_ = -1;

  std::jthread heart_;  // last, so that it ends first
};

}  // namespace troika
