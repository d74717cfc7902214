#include "data/testing/allocations.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};
std::atomic<std::size_t> largest{0};

void record(std::size_t size) {
  ++count;
  std::size_t seen = largest;
  while (seen < size && !largest.compare_exchange_weak(seen, size)) continue;
}

void* require(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  record(size);
  return require(std::malloc(std::max<std::size_t>(size, 1)));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  record(size);
  auto step = static_cast<std::size_t>(alignment);
  return require(std::aligned_alloc(step, (size + step) / step * step));
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return ::operator new(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

void operator delete[](void* memory) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}
void operator delete[](void* memory, std::size_t, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}

namespace troika::data {

Allocations allocations() { return {count, largest}; }

void reset_allocations() {
  count = 0;
  largest = 0;
}

}  // namespace troika::data
