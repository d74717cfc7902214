// The one owner of MPI: starts and ends it, and exchanges texts between ranks while a run is set
// up.
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

/// How the devices' threads call MPI. docs/mpi.md has the measured times.
enum class MpiThreading {
  multiple,    ///< Concurrently: MPI_THREAD_MULTIPLE.
  serialized,  ///< One at a time, under our own lock.
};

/// Environment variables of which mpirun, srun and the like set at least one.
inline constexpr std::array<const char*, 3> kMpiLauncherVariables = {"OMPI_COMM_WORLD_SIZE",
                                                                     "PMI_SIZE", "PMIX_RANK"};

/// A collective that MPI runs by itself, prepared once and started once per round.
class LibraryCollective {
 public:
  virtual ~LibraryCollective() = default;
  virtual void start() = 0;
  /// To be called until it returns true.
  virtual bool done() = 0;
};

struct LibraryCall {
  CollectiveCall call;  ///< Its members are all ranks, in order.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
};

/// One rank's view of all ranks. Outlives everything that uses MPI; destroyed on the thread that
/// made it.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Ranks on this machine.
  virtual int ranks_here() const = 0;
  bool on_one_host() const { return ranks_here() == ranks(); }
  /// Name and version of the MPI library, in one line.
  virtual std::string library() const = 0;

  /// Sets a function that is called repeatedly while one of the functions below waits; it may
  /// throw, for instance if a peer is lost.
  virtual void while_waiting(std::function<void()> check) = 0;
  /// Every rank gives a text and gets all of them, by rank. All ranks call it together.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;

  /// `rank_of_device` is the same on all ranks, and all ranks make their transports in the same
  /// order. `check` is called when a message has not arrived yet; it throws Error(peer) if a peer
  /// is lost.
  virtual std::unique_ptr<Transport> make_transport(std::vector<int> rank_of_device,
                                                    std::function<void()> check) = 0;

  /// All ranks prepare the same ones in the same order; `vector` is borrowed. Throws Bug if
  /// why_not_by_mpi (collective/) gives a reason.
  virtual std::unique_ptr<LibraryCollective> prepare_collective(const LibraryCall& call,
                                                                std::span<std::byte> vector,
                                                                std::function<void()> check) = 0;
};

/// Starts MPI; once per process. If the library does not allow concurrent calls, threads call it
/// one at a time. Throws Error(usage) if it allows one thread only, or if Troika was built without
/// MPI.
std::unique_ptr<MpiWorld> start_mpi(MpiThreading threading = MpiThreading::multiple);

/// Returns true if this build has MPI.
bool built_with_mpi();
/// Name and version of the MPI library that this process is linked with, in one line; empty in a
/// build without MPI. Needs no start_mpi.
std::string mpi_library();

}  // namespace troika
