#include "comm/mpi/mpi_world.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "collective/by_mpi.h"
#include "comm/backoff.h"
#include "comm/mpi/library_collective.h"
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_transport.h"

namespace troika {
namespace {

/// Between polls of a long wait, such as for the rank that measures kernels: polling all the time
/// would slow the device that it times on this core.
constexpr std::chrono::microseconds kNap{100};

std::string version_text() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string_view all(text, length);
  // MPICH writes many lines, with tabs and padding.
  std::string line(all.substr(0, all.find('\n')));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\0')) line.pop_back();
  for (char& c : line) c = c == '\t' ? ' ' : c;
  return line;
}

/// Returns the level that the library grants, which may be lower than the wanted one.
MpiThreading initialize(MpiThreading threading) {
  int before = 0;
  MPI_Initialized(&before);
  TROIKA_CHECK(before == 0, "MPI is started once per process");
  int wanted = threading == MpiThreading::multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  int given = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, wanted, &given), "MPI_Init_thread");
  if (given >= wanted) return threading;
  if (given >= MPI_THREAD_SERIALIZED) return MpiThreading::serialized;
  std::string library = version_text();
  MPI_Finalize();
  throw Error(
      ErrorKind::usage,
      fmt::format("the MPI library '{}' allows only one thread to call it; build Troika with "
                  "one that supports MPI_THREAD_SERIALIZED",
                  library));
}

/// By rank: it can share memory with this one, which MPI takes for being on one computer.
std::vector<bool> find_ranks_here(int ranks) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
            "MPI_Comm_split_type");
  MPI_Group here{}, world{};
  MPI_Comm_group(host, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> numbers(static_cast<std::size_t>(ranks)), in_host(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  int status = MPI_Group_translate_ranks(world, ranks, numbers.data(), here, in_host.data());
  MPI_Group_free(&here);
  MPI_Group_free(&world);
  MPI_Comm_free(&host);
  check_mpi(status, "MPI_Group_translate_ranks");
  std::vector<bool> is_here;
  for (int number : in_host) is_here.push_back(number != MPI_UNDEFINED);
  return is_here;
}

std::int64_t largest_tag(MPI_Comm communicator) {
  int* value = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr");
  constexpr int kLeastOfAll = 32767;  // guaranteed by the standard
  return found != 0 ? *value : kLeastOfAll;
}

class Owner final : public MpiWorld {
 public:
  explicit Owner(MpiThreading threading) : threading_(initialize(threading)) {
    // Errors are returned and become Error(peer); by default MPI would abort the process.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    is_here_ = find_ranks_here(ranks_);
    engine_ = std::make_unique<MpiEngine>(lock());
  }

  ~Owner() override {
    engine_.reset();
    // After a call was given up because a peer is lost, MPI_Finalize would wait for that peer.
    if (given_up_.empty()) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  int ranks_here() const override { return static_cast<int>(std::ranges::count(is_here_, true)); }
  std::string library() const override { return version_text(); }
  void while_waiting(std::function<void()> check) override { check_ = std::move(check); }

  std::vector<std::string> exchange(const std::string& text) override {
    auto round = std::make_shared<Exchange>(
        text, ranks_);  // shared, because MPI keeps using it if the wait is given up
    wait(round, [&](MPI_Request* request) {
      return MPI_Iallgather(&round->length, 1, MPI_INT, round->lengths.data(), 1, MPI_INT,
                            MPI_COMM_WORLD, request);
    });
    auto total = std::accumulate(round->lengths.begin(), round->lengths.end(), std::int64_t{0});
    TROIKA_CHECK(total <= std::numeric_limits<int>::max(), "MPI counts bytes in an int");
    // Rank r's text begins where those before it end.
    std::exclusive_scan(round->lengths.begin(), round->lengths.end(), round->starts.begin(), 0);
    round->joined.resize(static_cast<std::size_t>(total));
    wait(round, [&](MPI_Request* request) {
      return MPI_Iallgatherv(round->text.data(), round->length, MPI_CHAR, round->joined.data(),
                             round->lengths.data(), round->starts.data(), MPI_CHAR, MPI_COMM_WORLD,
                             request);
    });
    std::vector<std::string> texts;
    for (int rank = 0; rank < ranks_; ++rank) {
      texts.push_back(round->joined.substr(round->starts[rank], round->lengths[rank]));
    }
    return texts;
  }

  std::unique_ptr<Transport> make_transport(std::vector<int> rank_of_device,
                                            std::function<void()> check) override {
    // Communicators of its own, so that messages of two transports never match.
    MPI_Comm payloads = duplicate(), headers = duplicate();
    auto mine = std::ranges::count(rank_of_device, rank_);
    return make_mpi_transport({.payloads = payloads,
                               .headers = headers,
                               .tags = MpiTags(std::move(rank_of_device), largest_tag(payloads)),
                               .rank = rank_,
                               .local_devices = static_cast<int>(mine),
                               // Ranks have equal numbers of devices (docs/mpi.md).
                               .devices_here = static_cast<int>(mine) * ranks_here(),
                               .is_here = is_here_,
                               .check = std::move(check)},
                              *engine_, lock());
  }

  std::unique_ptr<LibraryCollective> prepare_collective(const LibraryCall& call,
                                                        std::span<std::byte> vector,
                                                        std::function<void()> check) override {
    auto reason = why_not_by_mpi(call.call, size_of(call.dtype));
    TROIKA_CHECK(!reason, reason.value_or(""));
    TROIKA_CHECK_EQ(call.call.members, ranks_);
    return make_library_collective(call, vector, duplicate(), lock(), std::move(check));
  }

 private:
  std::mutex* lock() { return threading_ == MpiThreading::multiple ? nullptr : &mutex_; }

  /// Buffers that MPI reads and writes while texts are exchanged.
  struct Exchange {
    Exchange(const std::string& mine, int ranks)
        : text(mine), length(static_cast<int>(mine.size())), lengths(ranks), starts(ranks) {}
    const std::string text;
    const int length;
    std::vector<int> lengths, starts;
    std::string joined{};
  };

  MPI_Comm duplicate() {
    // Non-blocking, and the handle in shared ownership, for the same reason as in exchange.
    auto copy = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    wait(copy,
         [&](MPI_Request* request) { return MPI_Comm_idup(MPI_COMM_WORLD, copy.get(), request); });
    MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
    return *copy;
  }

  /// Starts a non-blocking call and waits for it without keeping other threads out of MPI. If the
  /// wait is given up, `buffers` are kept, because MPI cannot cancel a collective call.
  template <class F>
  void wait(const std::shared_ptr<void>& buffers, F&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      std::scoped_lock lock(mutex_);
      check_mpi(start(&request), "a collective call of MPI");
    }
    try {
      Backoff backoff;
      for (int done = 0; done == 0;) {
        // Outside of the lock: the check may throw or take another lock.
        if (check_) check_();
        {
          std::scoped_lock lock(mutex_);
          check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        }
        if (done == 0 && !backoff.try_again()) std::this_thread::sleep_for(kNap);
      }
    } catch (...) {
      given_up_.push_back(buffers);
      throw;
    }
  }

  MpiThreading threading_;
  int rank_ = 0, ranks_ = 1;
  std::vector<bool> is_here_;
  std::function<void()> check_;
  std::vector<std::shared_ptr<void>> given_up_;  // buffers of abandoned calls
  std::mutex mutex_;  // held around every call of MPI, except for MpiThreading::multiple
  std::unique_ptr<MpiEngine> engine_;
};

}  // namespace

std::unique_ptr<MpiWorld> start_mpi(MpiThreading threading) {
  return std::make_unique<Owner>(threading);
}

bool built_with_mpi() { return true; }

std::string mpi_library() { return version_text(); }

}  // namespace troika
