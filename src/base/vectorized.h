// Compiles a function once per instruction set; the loader selects the widest one that the
// processor supports.
#pragma once

// `flatten` inlines all callees, so that they are compiled for the same instruction set. Under the
// thread sanitizer there is only one version: GCC's resolvers run before that sanitizer is
// initialised. Clang, which we use for lint only, does not accept the two attributes together.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define TROIKA_VECTORIZED \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For functions on vectors of 16 floats, which run only if widest_vector() is 16, and of 8 floats,
// which run otherwise. Versions that never run are not compiled: unrolled transforms compile
// slowly, above all for an instruction set with too few registers.
#define TROIKA_VECTORIZED_16 __attribute__((flatten, target("arch=x86-64-v4")))
#define TROIKA_VECTORIZED_8 __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define TROIKA_VECTORIZED
#define TROIKA_VECTORIZED_16
#define TROIKA_VECTORIZED_8
#endif
