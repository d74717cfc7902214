# Headers that are parsed once per build tree. Every source still names what it uses: the preset `debug`, with which
# `make lint` reads the code, compiles without them.
set(troika_precompiled
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory>
  <optional> <set> <span> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h>
  <nlohmann/json.hpp>)

# troika_precompile(TARGET ROLE [LIBS library...] [OPTIONS option...] [HEADERS header...]): GCC takes a precompiled header
# only into code that is compiled with the same options, so there is one per role, options, and use of OpenMP and MPI.
function(troika_precompile target role)
  cmake_parse_arguments(PARSE_ARGV 2 use "" "" "LIBS;OPTIONS;HEADERS")
  list(FILTER use_LIBS INCLUDE REGEX "OpenMP|MPI::")
  string(MD5 kind "${role} ${use_LIBS} ${use_OPTIONS}")
  get_property(first GLOBAL PROPERTY TROIKA_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${troika_precompiled} ${use_HEADERS})
    set_property(GLOBAL PROPERTY TROIKA_PRECOMPILED_${kind} ${target})
  endif()
endfunction()
