#include "comm/mpi/library_collective.h"

#include "base/error.h"
#include "comm/arithmetic.h"
#include "comm/mpi/mpi_engine.h"

namespace troika {
namespace {

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::i32:
      return MPI_INT32_T;
    case DType::f16:
    case DType::bf16:
      break;
  }
  throw Bug("MPI has no such element type");
}

/// MPI has no mean: it is a sum that `done` divides.
MPI_Op operation_of(CombineRule rule) {
  switch (rule) {
    case CombineRule::sum:
    case CombineRule::mean:
      return MPI_SUM;
    case CombineRule::min:
      return MPI_MIN;
    case CombineRule::max:
      return MPI_MAX;
  }
  throw Bug("unknown combine rule");
}

class Collectives final : public LibraryCollective {
 public:
  Collectives(const LibraryCall& call, std::span<std::byte> vector, MPI_Comm communicator,
              std::mutex* lock, std::function<void()> check)
      : call_(call),
        vector_(vector),
        communicator_(communicator),
        lock_(lock),
        check_(std::move(check)),
        arithmetic_(arithmetic_of(call.dtype, call.rule)) {
    MPI_Comm_rank(communicator_, &rank_);
  }
  ~Collectives() override {
    auto lock = hold(lock_);
    if (request_ != MPI_REQUEST_NULL) return;  // a peer is lost; freeing would wait for it
    MPI_Comm_free(&communicator_);
  }

  void start() override {
    auto lock = hold(lock_);
    check_mpi(begin(), "a collective of MPI");
  }

  bool done() override {
    if (!test()) {
      if (check_) check_();
      return false;
    }
    // Only members that hold the result divide it.
    bool combined = call_.call.kind == Collective::all_reduce ||
                    (call_.call.kind == Collective::reduce && rank_ == call_.call.root);
    if (combined && call_.rule == CombineRule::mean)
      arithmetic_.divide(vector_.data(), call_.call.count, call_.call.members);
    return true;
  }

 private:
  int begin() {
    // why_not_by_mpi has excluded counts that do not fit.
    auto count = static_cast<int>(call_.call.count);
    MPI_Datatype type = type_of(call_.dtype);
    bool root = rank_ == call_.call.root;
    switch (call_.call.kind) {
      case Collective::all_reduce:
        return MPI_Iallreduce(MPI_IN_PLACE, vector_.data(), count, type, operation_of(call_.rule),
                              communicator_, &request_);
      case Collective::reduce:
        // MPI allows MPI_IN_PLACE at the root only.
        return MPI_Ireduce(root ? MPI_IN_PLACE : vector_.data(), vector_.data(), count, type,
                           operation_of(call_.rule), call_.call.root, communicator_, &request_);
      case Collective::broadcast:
        return MPI_Ibcast(vector_.data(), count, type, call_.call.root, communicator_, &request_);
      case Collective::barrier:
        return MPI_Ibarrier(communicator_, &request_);
      case Collective::reduce_scatter:
      case Collective::all_gather:
      case Collective::all_to_all:
      case Collective::gather:
      case Collective::scatter:
        break;
    }
    throw Bug("MPI does not run this collective; check why_not_by_mpi first");
  }

  bool test() {
    auto lock = try_hold(lock_);
    if (!lock) return false;
    int done = 0;
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

  const LibraryCall call_;
  std::span<std::byte> vector_;
  MPI_Comm communicator_;
  std::mutex* lock_;
  std::function<void()> check_;
  Arithmetic arithmetic_;
  int rank_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<LibraryCollective> make_library_collective(const LibraryCall& call,
                                                           std::span<std::byte> vector,
                                                           MPI_Comm communicator, std::mutex* lock,
                                                           std::function<void()> check) {
  return std::make_unique<Collectives>(call, vector, communicator, lock, std::move(check));
}

}  // namespace troika
