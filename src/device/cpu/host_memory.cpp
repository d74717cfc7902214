#include "device/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace troika {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Fresh pages are zero already and are first touched by the device's own threads, so they lie near
/// them.
std::byte* map_pages(std::size_t bytes) {
  // mmap aligns to small pages only: maps one huge page more and cuts off what lies before and
  // after the aligned block.
  std::size_t reserved = bytes + kHugePage;
  void* mapped =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  std::size_t before = rounded_up(reinterpret_cast<std::size_t>(start), kHugePage) -
                       reinterpret_cast<std::size_t>(start);
  if (before > 0) munmap(start, before);
  if (before < kHugePage) munmap(start + before + bytes, kHugePage - before);
  // Only advice: without huge pages the block works as well.
  madvise(start + before, bytes, MADV_HUGEPAGE);
  return start + before;
}

}  // namespace

std::byte* host_block(Bytes bytes) noexcept {
  auto count = static_cast<std::size_t>(bytes.count);
  // The size alone decides which way a block was allocated, and so how it is released.
  if (count >= kHugePage) return map_pages(rounded_up(count, kHugePage));
  std::size_t size = rounded_up(count, kLine);
  void* block = std::aligned_alloc(kLine, size);
  if (block != nullptr) std::memset(block, 0, size);
  return static_cast<std::byte*>(block);
}

void release_host_block(std::byte* address, Bytes bytes) noexcept {
  auto count = static_cast<std::size_t>(bytes.count);
  if (count >= kHugePage) {
    munmap(address, rounded_up(count, kHugePage));
  } else {
    std::free(address);
  }
}

}  // namespace troika
