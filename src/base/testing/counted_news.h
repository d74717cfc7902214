// Counts the calls of operator new in a test program, its own code and libraries separately. It
// replaces the global operators, so exactly one source of a test program may include it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// Bounds of this program's own code, set by the linker; other addresses belong to libraries.
extern "C" const char __executable_start, etext;

namespace troika {

struct CountedNews {
  std::atomic<std::int64_t> own{0}, of_libraries{0};
};
inline CountedNews counted_news;

inline void* count_and_allocate(std::size_t size, std::size_t alignment, const void* caller) {
  bool own = caller >= &__executable_start && caller < &etext;
  ++(own ? counted_news.own : counted_news.of_libraries);
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}

inline void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace troika

// Not inlined: GCC would warn about mismatched allocation and deallocation functions.
#define TROIKA_REPLACED [[gnu::noinline]]
#define TROIKA_COUNT(size, alignment) \
  troika::count_and_allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0))

TROIKA_REPLACED void* operator new(std::size_t size) {
  return troika::or_throw(TROIKA_COUNT(size, alignof(std::max_align_t)));
}
TROIKA_REPLACED void* operator new[](std::size_t size) {
  return troika::or_throw(TROIKA_COUNT(size, alignof(std::max_align_t)));
}
TROIKA_REPLACED void* operator new(std::size_t size, std::align_val_t alignment) {
  return troika::or_throw(TROIKA_COUNT(size, alignment));
}
TROIKA_REPLACED void* operator new[](std::size_t size, std::align_val_t alignment) {
  return troika::or_throw(TROIKA_COUNT(size, alignment));
}
TROIKA_REPLACED void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return TROIKA_COUNT(size, alignof(std::max_align_t));
}
TROIKA_REPLACED void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return TROIKA_COUNT(size, alignof(std::max_align_t));
}
TROIKA_REPLACED void operator delete(void* memory) noexcept { std::free(memory); }
TROIKA_REPLACED void operator delete[](void* memory) noexcept { std::free(memory); }
TROIKA_REPLACED void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
TROIKA_REPLACED void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
TROIKA_REPLACED void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
TROIKA_REPLACED void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
TROIKA_REPLACED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
TROIKA_REPLACED void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#undef TROIKA_COUNT
#undef TROIKA_REPLACED
