// For tests: ranks as threads of one process.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "comm/threads/thread_transport.h"
#include "setup/ranks.h"

namespace troika {

/// What the ranks have in common. One that fails lets the others fail at their next exchange.
class ThreadTeam {
 public:
  explicit ThreadTeam(int count) : count_(count), texts_(static_cast<std::size_t>(count)) {}

  int count() const { return count_; }
  ThreadTransport& transport() { return transport_; }

  std::vector<std::string> exchange(int rank, const std::string& text) {
    std::unique_lock lock(mutex_);
    texts_[static_cast<std::size_t>(rank)] = text;
    std::int64_t round = round_;
    if (++arrived_ == count_) {
      arrived_ = 0;
      ++round_;
      result_ = texts_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round || failed_; });
    }
    if (failed_ && round_ == round) throw Error(ErrorKind::peer, "another rank has failed");
    return result_;
  }
  void fail() {
    std::scoped_lock lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  const int count_;
  ThreadTransport transport_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_, result_;
  int arrived_ = 0;
  std::int64_t round_ = 0;
  bool failed_ = false;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(ThreadTeam& team, int rank) : team_(team), rank_(rank) {}
  int rank() const override { return rank_; }
  int count() const override { return team_.count(); }
  std::string host() const override { return "here"; }
  void watched(const std::string&, const std::function<void()>& body) override { body(); }
  std::unique_ptr<Transport> join(const std::vector<int>& rank_of_device) override {
    return std::make_unique<Lent>(team_.transport(), rank_of_device);
  }

 private:
  class Lent final : public Transport {
   public:
    Lent(Transport& lent, std::vector<int> rank_of_device)
        : lent_(lent), rank_of_device_(std::move(rank_of_device)) {}
    std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                           std::span<const std::byte> bytes) override {
      return lent_.prepare_send(address, bytes);
    }
    std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                              std::span<std::byte> buffer) override {
      return lent_.prepare_receive(address, buffer);
    }
    /// As if ranks were processes.
    bool shares_memory(DeviceId a, DeviceId b) const override {
      return rank_of_device_[a.index()] == rank_of_device_[b.index()];
    }
    std::unique_ptr<Outgoing> prepare_lend(const MessageAddress& address,
                                           std::span<std::byte> memory) override {
      return lent_.prepare_lend(address, memory);
    }
    std::unique_ptr<Incoming> prepare_borrow(const MessageAddress& address,
                                             std::size_t bytes) override {
      return lent_.prepare_borrow(address, bytes);
    }
    Doorbell* doorbell(DeviceId device) override { return lent_.doorbell(device); }
    int local_devices() const override { return lent_.local_devices(); }
    void progress() override { lent_.progress(); }

   private:
    Transport& lent_;
    const std::vector<int> rank_of_device_;
  };

  std::vector<std::string> pass_round(const std::string& text) override {
    return team_.exchange(rank_, text);
  }

  ThreadTeam& team_;
  int rank_;
};

/// Calls body on a thread for each rank; what each of them threw, by rank.
inline std::vector<std::exception_ptr> run_ranks(int count,
                                                 const std::function<void(Ranks&)>& body) {
  ThreadTeam team(count);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank own(team, rank);
      try {
        body(own);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
        team.fail();
      }
    });
  }
  threads.clear();
  return failures;
}

inline void expect_no_failure(const std::vector<std::exception_ptr>& failures) {
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

inline std::string sentence_of(const std::exception_ptr& failure) {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace troika
