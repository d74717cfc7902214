# One library and one test binary per folder of src/, and the settings that every target shares.

function(troika_compile_settings target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  # Designated initialisers leave out fields on purpose, and GCC 12 is wrong about std::string (its bug 105651),
  # the more so in precompiled headers, which it no longer knows to be the system's.
  target_compile_options(${target} PRIVATE -Wno-missing-field-initializers -Wno-restrict -Wno-stringop-overflow
                         -Wno-array-bounds)
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # lets ccache see through precompiled headers
  if(TROIKA_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TROIKA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # counts branches for libFuzzer
  endif()
  if(TROIKA_SANITIZE)
    set(sanitize -fsanitize=${TROIKA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(TROIKA_NO_SANITIZE)
      list(APPEND sanitize -fno-sanitize=${TROIKA_NO_SANITIZE})
    endif()
    # GCC's manual: under sanitizers this warning has false positives.
    target_compile_options(${target} PRIVATE ${sanitize} -Wno-maybe-uninitialized)
    target_link_options(${target} PRIVATE ${sanitize})
  endif()
endfunction()

# Compiles neighbouring sources of a target together, so that the headers they share are read once: 24 of them in the
# presets for a whole build, none where TROIKA_UNITY is 0. Sources of different folders are never joined: the same
# file-local names may stand in kernels/cpu and kernels/reference.
function(troika_unity target)
  if(NOT TROIKA_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${target}_${folder}" group)
    math(EXPR count_${group} "0${count_${group}} + 1")
    math(EXPR batch "(${count_${group}} - 1) / ${TROIKA_UNITY}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${group}_${batch}")
  endforeach()
endfunction()

# troika_testing(NAME LIBRARY SOURCES source... DEPS library... LIBS library...): what only tests reach, in
# src/NAME/testing, as a library that no product links.
function(troika_testing name library)
  cmake_parse_arguments(PARSE_ARGV 2 testing "" "" "SOURCES;DEPS;LIBS")
  list(TRANSFORM testing_DEPS APPEND _testing)
  if(testing_SOURCES)
    add_library(${library}_testing STATIC EXCLUDE_FROM_ALL ${testing_SOURCES})
    troika_compile_settings(${library}_testing)
    troika_unity(${library}_testing ${testing_SOURCES})
    target_link_libraries(${library}_testing PUBLIC ${library} ${testing_DEPS} PRIVATE fmt::fmt ${testing_LIBS})
  else()
    add_library(${library}_testing INTERFACE)
    target_link_libraries(${library}_testing INTERFACE ${library} ${testing_DEPS})
  endif()
endfunction()

# troika_test_entry(NAME COMMAND... [ENVIRONMENT VARIABLE=VALUE...]): a ctest entry that runs a GoogleTest binary. The XML
# report lets scripts/run_tests count single tests and skips. Kernel times are kept in the build tree, not in the user's cache.
function(troika_test_entry name)
  cmake_parse_arguments(PARSE_ARGV 1 entry "" "" "ENVIRONMENT")
  add_test(NAME ${name} COMMAND ${entry_UNPARSED_ARGUMENTS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-results/${name}.xml;XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/cache/${name};${entry_ENVIRONMENT}")
endfunction()

# troika_test(NAME SOURCES source... LIBS library...): one GoogleTest binary, one ctest entry.
function(troika_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBS")
  add_executable(${name} ${test_SOURCES})
  troika_compile_settings(${name})
  troika_unity(${name} ${test_SOURCES})
  # The library under test is optimised; the tests need not be, and a whole build takes minutes less.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${test_LIBS} fmt::fmt GTest::gmock GTest::gtest_main)
  troika_precompile(${name} test LIBS ${test_LIBS} HEADERS <gtest/gtest.h> <gmock/gmock.h>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  troika_test_entry(${name} ${name})
endfunction()

# troika_test_instruction_sets(TEST FILTER): the tests of TEST that the GoogleTest filter names, once more per instruction
# set, as ctest entries of their own. oneDNN reads the variable; src/kernels/instruction_set_test.cpp holds our own kernels
# to the same limit, and skips the tests where the processor lacks the set.
function(troika_test_instruction_sets test filter)
  foreach(set SSE41 AVX2 AVX512_CORE)
    string(TOLOWER ${test}_${set} name)
    troika_test_entry(${name} ${test} --gtest_filter=${filter} ENVIRONMENT ONEDNN_MAX_CPU_ISA=${set})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# Drops from the named list what does not fit whether `library` was found: with it the stub SUBFOLDER/no_*.cpp, without
# it everything of SUBFOLDER but the stub.
function(troika_choose_backend list_name subfolder library)
  set(stub "/${subfolder}/no_[^/]*\\.cpp$")
  set(chosen ${${list_name}})
  if(TARGET ${library})
    list(FILTER chosen EXCLUDE REGEX ${stub})
  else()
    set(stubs ${chosen})
    list(FILTER stubs INCLUDE REGEX ${stub})
    list(FILTER chosen EXCLUDE REGEX "/${subfolder}/")
    list(APPEND chosen ${stubs})
  endif()
  set(${list_name} ${chosen} PARENT_SCOPE)
endfunction()

# troika_folder(NAME [DEPS folder...] [LIBS target...] [OPTIONS option...] [BACKENDS subfolder target ...] [MAIN program])
#   NAME      src/NAME/**.cpp becomes the library troika_NAME, its *_test.cpp files the test NAME_test
#   DEPS      the folders it may include, and by them what those may include
#   LIBS      third-party libraries its sources use
#   OPTIONS   further compiler options of its sources
#   BACKENDS  pairs: the subfolder is compiled if the third-party library was found, else its stub no_*.cpp is
#   MAIN      src/NAME/main.cpp becomes this program, at the top of the build folder
# A folder without sources is an interface library.
function(troika_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 folder "PLANNED" "MAIN" "DEPS;LIBS;OPTIONS;BACKENDS")
  set(root ${PROJECT_SOURCE_DIR}/src/${name})
  if(NOT folder_PLANNED AND NOT EXISTS ${root})
    message(FATAL_ERROR "src/${name} does not exist; mark it PLANNED in src/CMakeLists.txt")
  elseif(folder_PLANNED AND EXISTS ${root})
    message(FATAL_ERROR "src/${name} exists; remove PLANNED from its line in src/CMakeLists.txt")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/*.cpp)
  while(folder_BACKENDS)
    list(POP_FRONT folder_BACKENDS subfolder library)
    troika_choose_backend(sources src/${name}/${subfolder} ${library})
    if(TARGET ${library})
      list(APPEND folder_LIBS ${library})
    endif()
  endwhile()
  set(tests ${sources})
  set(testing ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER testing INCLUDE REGEX "/testing/")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/testing/")
  if(folder_MAIN)
    list(REMOVE_ITEM sources ${root}/main.cpp)
  endif()

  set(library troika_${name})
  set(include_dirs $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  list(TRANSFORM folder_DEPS PREPEND troika_)
  if(sources)
    add_library(${library} STATIC ${sources})
    troika_compile_settings(${library})
    troika_unity(${library} ${sources})
    target_link_libraries(${library} PUBLIC ${folder_DEPS} PRIVATE fmt::fmt ${folder_LIBS})
    target_include_directories(${library} PUBLIC ${include_dirs})
    target_compile_options(${library} PRIVATE ${folder_OPTIONS})
    troika_precompile(${library} library OPTIONS ${folder_OPTIONS} LIBS ${folder_LIBS})
    add_dependencies(product ${library})
  else()
    add_library(${library} INTERFACE)
    target_link_libraries(${library} INTERFACE ${folder_DEPS})
    target_include_directories(${library} INTERFACE ${include_dirs})
  endif()
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY TROIKA_LIBRARIES ${library})

  troika_testing(${name} ${library} SOURCES ${testing} DEPS ${folder_DEPS} LIBS ${folder_LIBS})
  if(tests)
    troika_test(${name}_test SOURCES ${tests} LIBS ${library}_testing ${library} ${folder_LIBS})
  endif()
  if(folder_MAIN AND EXISTS ${root}/main.cpp)
    add_executable(${folder_MAIN} ${root}/main.cpp)
    troika_compile_settings(${folder_MAIN})
    target_link_libraries(${folder_MAIN} PRIVATE ${library} fmt::fmt ${folder_LIBS})
    set_target_properties(${folder_MAIN} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    add_dependencies(product ${folder_MAIN})
    install(TARGETS ${folder_MAIN} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()
