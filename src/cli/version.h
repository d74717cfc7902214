// The version of Troika, as the build knows it.
#pragma once

namespace troika::cli {

inline constexpr const char* kVersion = TROIKA_VERSION;

}  // namespace troika::cli
