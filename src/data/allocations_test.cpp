#include "data/testing/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};
std::atomic<std::size_t> largest{0};
std::atomic<std::int64_t> in_use{0}, peak{0};

template <class T>
void raise(std::atomic<T>& most, T value) {
  T seen = most;
  while (seen < value && !most.compare_exchange_weak(seen, value)) continue;
}

void* record(void* memory, std::size_t size) {
  if (memory == nullptr) throw std::bad_alloc();
  ++count;
  raise(largest, size);
  auto usable = static_cast<std::int64_t>(malloc_usable_size(memory));
  raise(peak, in_use += usable);
  return memory;
}

void release(void* memory) {
  in_use -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return record(std::malloc(std::max<std::size_t>(size, 1)), size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  auto step = static_cast<std::size_t>(alignment);
  return record(std::aligned_alloc(step, (size + step) / step * step), size);
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return ::operator new(size, alignment);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

void operator delete[](void* memory) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { ::operator delete(memory); }
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}
void operator delete[](void* memory, std::size_t, std::align_val_t alignment) noexcept {
  ::operator delete(memory, alignment);
}

namespace troika::data {

Allocations allocations() { return {count, largest, peak}; }

void reset_allocations() {
  count = 0;
  largest = 0;
  in_use = 0;
  peak = 0;
}

}  // namespace troika::data
