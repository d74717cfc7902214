// MPI has one owner: this object starts it, speaks for the rank while a run is set up, and ends it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "comm/transport.h"
#include "tensor/dtype.h"

namespace troika {

/// How the devices' threads call MPI while a run is going on. docs/mpi.md has the figures behind
/// it.
enum class MpiThreading {
  multiple,    ///< At once: MPI_THREAD_MULTIPLE.
  serialized,  ///< One at a time, under a lock of ours.
};

/// Of these variables mpirun and its like set at least one.
inline constexpr std::array<const char*, 3> kMpiLauncherVariables = {"OMPI_COMM_WORLD_SIZE",
                                                                     "PMI_SIZE", "PMIX_RANK"};

/// A collective that MPI runs by itself, prepared once and started once per round.
class LibraryCollective {
 public:
  virtual ~LibraryCollective() = default;
  virtual void start() = 0;
  /// Asked until it says yes.
  virtual bool done() = 0;
};

struct LibraryCall {
  CollectiveCall call;  ///< Its members are the ranks, all of them, in order.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
};

/// One rank's view of all ranks. Destroyed last of all that uses MPI, on the thread that made it.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Those on this machine.
  virtual int ranks_here() const = 0;
  bool on_one_host() const { return ranks_here() == ranks(); }
  /// Name and version of the MPI library, in one line.
  virtual std::string library() const = 0;

  /// Called again and again while a call below waits; may throw, for instance when a peer is lost.
  virtual void while_waiting(std::function<void()> check) = 0;
  /// Every rank gives a text and gets all of them, by rank. All ranks call it together.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;

  /// `rank_of_device` is the same on all ranks, and all ranks make their transports in the same
  /// order. `check` is called by a message that is not there yet; it throws Error(peer) when a peer
  /// is lost.
  virtual std::unique_ptr<Transport> make_transport(std::vector<int> rank_of_device,
                                                    std::function<void()> check) = 0;

  /// All ranks prepare the same ones in the same order; `vector` is borrowed. Throws Bug where
  /// why_not_by_mpi (collective/) has an answer.
  virtual std::unique_ptr<LibraryCollective> prepare_collective(const LibraryCall& call,
                                                                std::span<std::byte> vector,
                                                                std::function<void()> check) = 0;
};

/// Once per process. Where the library does not let threads call it at once, they do so one at a
/// time. Throws Error(usage) when it lets one thread only, or when Troika was built without MPI.
std::unique_ptr<MpiWorld> start_mpi(MpiThreading threading = MpiThreading::multiple);

/// Whether start_mpi can work in this build.
bool built_with_mpi();
/// Name and version of the MPI library that this process is linked with, in one line; empty in a
/// build without MPI. Needs no start_mpi.
std::string mpi_library();

}  // namespace troika
