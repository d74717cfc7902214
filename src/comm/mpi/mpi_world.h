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

/// Who calls MPI while a run is going on. docs/mpi.md has the figures behind the default.
enum class MpiThreading {
  multiple,         ///< Every device's thread, at once: MPI_THREAD_MULTIPLE.
  serialized,       ///< Every device's thread, one at a time, under a lock of ours.
  progress_thread,  ///< One thread of ours; the devices' threads hand over and look.
};

std::string_view to_string(MpiThreading threading);
/// Throws Error(usage) naming the text and the three names.
MpiThreading parse_mpi_threading(std::string_view text);

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

/// Why MPI cannot do it alone; nothing when it can. The algorithm "mpi" is a candidate then.
std::optional<std::string> why_not_by_mpi(const LibraryCall& call, int ranks);

/// One rank's view of all ranks. Destroyed last of all that uses MPI, on the thread that made it.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Whether all ranks run on one machine.
  virtual bool on_one_host() const = 0;
  /// Name and version of the MPI library, in one line.
  virtual std::string library() const = 0;
  virtual MpiThreading threading() const = 0;

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
  /// why_not_by_mpi has an answer.
  virtual std::unique_ptr<LibraryCollective> prepare_collective(const LibraryCall& call,
                                                                std::span<std::byte> vector,
                                                                std::function<void()> check) = 0;
};

/// Once per process. Throws Error(usage) when Troika was built without MPI, or when the library
/// does not let threads call it as `threading` wants.
std::unique_ptr<MpiWorld> start_mpi(MpiThreading threading = MpiThreading::multiple);

/// Whether start_mpi can work in this build.
bool built_with_mpi();

}  // namespace troika
