// Runs the tests of this binary on a lesser processor than there is: where ONEDNN_MAX_CPU_ISA
// limits oneDNN, it also limits the versions of our own kernels.
//
// GCC chooses a function's version by the feature words that __cpu_indicator_init fills in. The
// linker (--wrap, src/CMakeLists.txt) sends that call here, and the features above the limit are
// cleared. This happens while the program is being loaded, before the C library is ready, so that
// only system calls may be used; and before sanitizers are.
#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "device/cpu/instruction_set.h"

extern "C" {
struct ProcessorModel {
  unsigned vendor, type, subtype, features;
};
extern ProcessorModel processor_model __asm__("__cpu_model");
extern unsigned more_features[3] __asm__("__cpu_features2");
int find_features() __asm__("__real___cpu_indicator_init");
int find_limited_features() __asm__("__wrap___cpu_indicator_init");
}

#define TROIKA_EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

namespace troika {
namespace {

enum class Limit { none, avx2, sse };

constexpr int kWords = 4;

TROIKA_EARLY unsigned& feature_word(int at) {
  return at == 0 ? processor_model.features : more_features[at - 1];
}

/// With a single feature set: whether it is beyond the limit. Where a feature has its bit differs
/// between versions of GCC; so it is asked, not known.
TROIKA_EARLY bool is_beyond(Limit limit) {
  __asm__ volatile("" ::: "memory");  // the words were just written under other names
  if (__builtin_cpu_supports("avx512f") || __builtin_cpu_supports("avx512bw") ||
      __builtin_cpu_supports("avx512vl") || __builtin_cpu_supports("avx512dq") ||
      __builtin_cpu_supports("avx512cd") || __builtin_cpu_supports("x86-64-v4"))
    return true;
  return limit == Limit::sse &&
         (__builtin_cpu_supports("avx") || __builtin_cpu_supports("avx2") ||
          __builtin_cpu_supports("fma") || __builtin_cpu_supports("x86-64-v3"));
}

TROIKA_EARLY void clear_features(Limit limit) {
  unsigned kept[kWords] = {}, found[kWords];
  for (int at = 0; at < kWords; ++at) {
    found[at] = feature_word(at);
    feature_word(at) = 0;
  }
  for (int at = 0; at < kWords; ++at) {
    for (unsigned bit = 1; bit != 0; bit <<= 1) {
      feature_word(at) = bit;
      if (!is_beyond(limit)) kept[at] |= found[at] & bit;
    }
    feature_word(at) = 0;
  }
  for (int at = 0; at < kWords; ++at) feature_word(at) = kept[at];
}

TROIKA_EARLY long system_call(long number, long a, long b, long c, long d) {
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
}

/// Whether `text` begins at `at`.
TROIKA_EARLY bool begins(const char* at, const char* text) {
  while (*text != 0 && *at == *text) ++at, ++text;
  return *text == 0;
}

/// By ONEDNN_MAX_CPU_ISA in /proc/self/environ: the C library's environment is not there yet.
TROIKA_EARLY Limit limit_asked_for() {
  static char text[1 << 16];  // zeroed, and longer than the environment of a test
  long file =
      system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/environ"), O_RDONLY, 0);
  if (file < 0) return Limit::none;
  long length = 0;
  for (long more = 1; more > 0 && length < static_cast<long>(sizeof text) - 64; length += more)
    more = system_call(SYS_read, file, reinterpret_cast<long>(text + length),
                       static_cast<long>(sizeof text) - 64 - length, 0);
  system_call(SYS_close, file, 0, 0, 0);
  for (long at = 0; at < length; ++at) {
    if ((at > 0 && text[at - 1] != 0) || !begins(text + at, "ONEDNN_MAX_CPU_ISA=")) continue;
    const char* value = text + at + sizeof("ONEDNN_MAX_CPU_ISA=") - 1;
    if (begins(value, "SSE41")) return Limit::sse;
    if (begins(value, "AVX2")) return Limit::avx2;
  }
  return Limit::none;
}

// One function in the three versions that TROIKA_VECTORIZED makes.
#if !defined(__SANITIZE_THREAD__)
__attribute__((target("arch=x86-64-v4"))) std::string_view chosen_version() { return "avx512"; }
__attribute__((target("arch=x86-64-v3"))) std::string_view chosen_version() { return "avx2"; }
__attribute__((target("default"))) std::string_view chosen_version() { return "sse"; }
#else
std::string_view chosen_version() { return instruction_set(); }
#endif

/// The set that the variable names; empty where it names none of ours.
std::string_view set_asked_for() {
  const char* value = std::getenv("ONEDNN_MAX_CPU_ISA");
  std::string_view name = value == nullptr ? "" : value;
  if (name == "SSE41") return "sse";
  if (name == "AVX2") return "avx2";
  return name.starts_with("AVX512_CORE") ? "avx512" : "";
}

/// A processor that lacks the set would run the tests of another one again, and count them.
/// GoogleTest counts tests skipped from here as passed, so the program ends with the status that
/// ctest takes for a skipped entry (SKIP_RETURN_CODE).
class InstructionSetIsThere final : public testing::Environment {
  void SetUp() override {
    std::string_view asked = set_asked_for(), got = instruction_set();
    if (asked.empty() || asked == got) return;
    std::printf("this processor has %.*s, not %.*s\n", static_cast<int>(got.size()), got.data(),
                static_cast<int>(asked.size()), asked.data());
    std::fflush(stdout);
    std::_Exit(77);
  }
};
const testing::Environment* const kInstructionSetIsThere =
    testing::AddGlobalTestEnvironment(new InstructionSetIsThere);

TEST(InstructionSet, OurKernelsAreLimitedAsTheLibraryIs) {
  EXPECT_EQ(chosen_version(), instruction_set());
  std::string_view asked = set_asked_for();
  EXPECT_EQ(instruction_set(), asked.empty() ? instruction_set() : asked);
}

}  // namespace
}  // namespace troika

TROIKA_EARLY int find_limited_features() {
  int result = find_features();
  troika::Limit limit = troika::limit_asked_for();
  if (limit != troika::Limit::none) troika::clear_features(limit);
  return result;
}

#endif
