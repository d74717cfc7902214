// Compiles a function once per instruction set; the loader takes the widest that the processor has.
#pragma once

// Everything called inside is inlined, so that it is compiled for the same instructions. Under the
// thread sanitizer there is one version only: GCC's version choosers run before that sanitizer is
// ready.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TROIKA_VECTORIZED \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TROIKA_VECTORIZED
#endif
