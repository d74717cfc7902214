#include "kernels/cpu/packed_offer.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/loops.h"

namespace troika {
namespace {

/// With fewer multiplications, waking the threads costs more than it saves.
constexpr std::int64_t kSmallProduct = 64 * kSmallLoop;

/// Threads share each product, or each computes whole products if there are enough batches.
struct PackedLoop {
  PackedLoop(const PackedOperands& asked, int lanes, int threads)
      : operands(asked),
        threads_for_batches(asked.batches >= threads ? threads : 1),
        plan(asked.extent, {.lanes = lanes,
                            .threads = threads_per_product(threads),
                            .turned_a = asked.a.column != 1 && asked.a.row == 1}) {
    if (asked.tail.activation) activation = in_place_loop(*asked.tail.activation);
  }

  /// 1 if batches are divided among the threads, since parallel regions are not nested.
  int threads_per_product(int threads) const {
    const ProductExtent& e = operands.extent;
    bool is_small = e.rows * e.columns * e.depth < kSmallProduct;
    return operands.batches >= threads || is_small ? 1 : threads;
  }

  /// One of the two numbers is 1: threads share either a product or the batches.
  Bytes scratch() const {
    return {4 * plan.floats_per_part() * std::max(plan.parts(), threads_for_batches)};
  }

  PackedProduct product(const Launch& launch, std::int64_t batch) const {
    std::size_t last = launch.operands.size() - 1;
    const Tail& tail = operands.tail;
    return {.a = operands.a.in(launch, batch),
            .b = operands.b.in(launch, batch),
            .c = launch.at(last) + batch * operands.extent.rows * operands.extent.columns,
            .c_row = operands.extent.columns,
            .tail = {.bias = tail.bias ? launch.at(2) : nullptr,
                     .residual = tail.residual ? launch.at(last - 1) : nullptr,
                     .activation = activation ? &activation : nullptr}};
  }

  void run(const Launch& launch) const {
    if (operands.batches == 1) return multiply(plan, product(launch, 0), launch.work());
    if (threads_for_batches == 1) {
      for (std::int64_t batch = 0; batch < operands.batches; ++batch)
        multiply(plan, product(launch, batch), launch.work());
      return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads_for_batches)
    for (int share = 0; share < threads_for_batches; ++share) {
      float* work = launch.work() + share * plan.floats_per_part();
      Range batches = part_of(operands.batches, share, threads_for_batches);
      for (std::int64_t batch = batches.begin; batch < batches.end; ++batch)
        multiply_part(plan, product(launch, batch), 0, work);
    }
  }

  PackedOperands operands;
  int threads_for_batches;
  ProductPlan plan;
  InPlaceFunction activation;
};

}  // namespace

std::optional<std::string> packed_declined() {
  if (allowed_lanes() >= 8) return std::nullopt;
  return "it needs AVX2, which this processor lacks or ONEDNN_MAX_CPU_ISA forbids";
}

void add_packed(Offers& list, const Request& request, std::vector<Layout> layouts,
                const PackedOperands& operands) {
  if (packed_declined()) return;
  // Shared by the copies of the loop, which outlive this request.
  auto loop =
      std::make_shared<const PackedLoop>(operands, allowed_lanes(), request.context.threads);
  Candidate candidate{
      .algorithm = "packed", .layouts = std::move(layouts), .scratch = loop->scratch()};
  list.push_back(
      offer_loop(request, candidate, [loop](const Launch& launch) { loop->run(launch); }));
}

}  // namespace troika
