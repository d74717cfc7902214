// Ensures that one process at a time writes a run folder: a file lock within a computer, and a
// lease for network file systems whose locks do not reach other computers.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace troika {

/// The right to write into a folder, held from construction to destruction. It is the file
/// FOLDER/lock, which names the host, process and start time of its owner. The owner holds a flock
/// on it and renews its modification time. Thread-safe.
class WriterLease {
 public:
  struct Times {
    std::chrono::milliseconds beat{10'000};  ///< Between two renewals.
    /// An owner without renewal for this long counts as gone. That is six missed renewals, so that
    /// a short stall of a network disk does not lose the lease.
    std::chrono::milliseconds stale{60'000};
  };

  /// Throws Error(usage) naming host and process if another owner is alive, and Error(file) if the
  /// folder cannot be written. Takes over the lease of an owner that is gone. An owner on this
  /// computer is gone if its flock is free; one on another computer if its lease is stale by the
  /// clock of the file system, so that the clocks of computers need not agree.
  explicit WriterLease(std::filesystem::path folder, Times times);
  explicit WriterLease(std::filesystem::path folder) : WriterLease(std::move(folder), Times{}) {}
  WriterLease(const WriterLease&) = delete;
  WriterLease& operator=(const WriterLease&) = delete;
  ~WriterLease();

  /// Throws Error(file) if another process has taken over the lease, which happens to a process
  /// that was stopped for longer than Times::stale. Called before each write.
  void require() const;

  /// Describes the owner from whom the lease was taken over; empty if there was none.
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
