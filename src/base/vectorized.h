// Compiles a function once per instruction set; the loader takes the widest that the processor has.
#pragma once

// Everything called inside is inlined, so that it is compiled for the same instructions. Under the
// thread sanitizer there is one version only: GCC's version choosers run before that sanitizer is
// ready. Clang, which lints, does not know these attributes together.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define TROIKA_VECTORIZED \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For functions on vectors of 16 floats, which run only where widest_vector() is 16, and of 8
// floats, which run elsewhere. Unrolled transforms take the compiler long, most of all for a set
// with too few registers, so versions that never run are not made.
#define TROIKA_VECTORIZED_16 __attribute__((flatten, target("arch=x86-64-v4")))
#define TROIKA_VECTORIZED_8 __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define TROIKA_VECTORIZED
#define TROIKA_VECTORIZED_16
#define TROIKA_VECTORIZED_8
#endif
