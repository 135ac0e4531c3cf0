# Unit tests (one GoogleTest executable), fuzz targets (one executable) and, in the release
# tree, the checks that run outside it, so that one ctest call covers everything.

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
include(GoogleTest)

# Tests run in the repository root: their data lies at paths relative to it.
set(test_environment
    "FLOPCAST_CLI=$<$<TARGET_EXISTS:flopcast_cli>:$<TARGET_FILE:$<TARGET_NAME_IF_EXISTS:flopcast_cli>>>")

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
list(FILTER support_sources EXCLUDE REGEX "/fuzz_main\\.cc$")
file(GLOB integration_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.cc)
set(test_sources ${all_sources})
list(FILTER test_sources INCLUDE REGEX "_test\\.cc$")
list(APPEND test_sources ${integration_tests})

if(NOT TARGET flopcast_live13)
  list(FILTER test_sources EXCLUDE REGEX "/src/live/standin/")
endif()
if(FLOPCAST_TEST_FILES)
  list(FILTER test_sources INCLUDE REGEX "${FLOPCAST_TEST_FILES}")
endif()
if(FLOPCAST_ONLY_THREAD_TESTS)
  set(thread_tests)
  foreach(source IN LISTS test_sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} hits REGEX "^[A-Z_]+\\([A-Za-z0-9_]*Threads," LIMIT_COUNT 1)
    if(hits)
      list(APPEND thread_tests ${source})
    endif()
  endforeach()
  set(test_sources ${thread_tests})
endif()

# Tested without loading the core that they are a part of.
set(standin_sources)
if(test_sources MATCHES "/live/engine/daemon/")
  list(APPEND standin_sources ${PROJECT_SOURCE_DIR}/src/live/standin/link/link.cc
       ${PROJECT_SOURCE_DIR}/src/live/standin/link/threads.cc)
endif()
if(test_sources MATCHES "/live/standin/values/")
  list(APPEND standin_sources ${PROJECT_SOURCE_DIR}/src/live/standin/values/validity.cc)
endif()

set_source_files_properties(${standin_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# What any executable of tests links.
add_library(flopcast_test_needs INTERFACE)
target_link_libraries(flopcast_test_needs INTERFACE
  flopcast_internal $<TARGET_NAME_IF_EXISTS:flopcast_cli_lib> rapidcheck GTest::gmock GTest::gtest_main)
function(flopcast_test_executable name)
  target_link_libraries(${name} PRIVATE flopcast_test_needs)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  foreach(needed IN ITEMS flopcast_cli flopcast_live13)
    if(TARGET ${needed})
      add_dependencies(${name} ${needed})
    endif()
  endforeach()
endfunction()

# The objects of tests, a library for those of each room: tests_network. `network_tests` has these alone, for whoever
# works there; flopcast_tests has all.
function(flopcast_add_test_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE flopcast_test_needs)
  if(TARGET flopcast_live13)
    target_compile_definitions(${name} PRIVATE FLOPCAST_LIVE_CORE="$<TARGET_FILE:flopcast_live13>")
  endif()
  # Quick to compile: what they test is optimised. Behaviour that the language leaves undefined is looked for in the
  # library and in fuzz targets.
  target_compile_options(${name} PRIVATE -O0 $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=undefined>)
endfunction()
set(test_headers <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)

if(FLOPCAST_TESTS_FROM)
  # What they test is instrumented, they are not. Functions of headers that both hold come from the first, so the
  # library goes ahead of them.
  file(STRINGS ${FLOPCAST_TESTS_FROM}/test_objects.txt test_objects)
  list(FILTER test_objects EXCLUDE REGEX "/unity_standin_|/src/live/standin/")
  set(instrumented $<TARGET_FILE:flopcast>)
  set(rest)
  if(FLOPCAST_ONLY_THREAD_TESTS)
    foreach(source IN LISTS test_sources)
      if(source MATCHES "/src/(${rooms_without_threads})/")
        message(FATAL_ERROR "${source} has a suite ...Threads: take its room out of rooms_without_threads")
      endif()
    endforeach()
    set(rest ${FLOPCAST_TESTS_FROM}/libflopcast_cli_lib.a ${FLOPCAST_TESTS_FROM}/libflopcast.a)
  else()
    list(PREPEND instrumented $<TARGET_FILE:flopcast_cli_lib>)
  endif()
  set_source_files_properties(${test_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_executable(flopcast_tests ${test_objects} ${standin_sources})
  target_link_options(flopcast_tests PRIVATE -Wl,--whole-archive ${instrumented} -Wl,--no-whole-archive)
  target_link_libraries(flopcast_tests PRIVATE ${rest})
elseif(test_sources)
  set(test_rooms)
  foreach(source IN LISTS test_sources)
    string(REGEX REPLACE "^${PROJECT_SOURCE_DIR}/(src/)?([^/]+)/.*" "\\2" room ${source})
    if(room STREQUAL tests)
      set(room whole)  # tests/*_test.cc, which span rooms
    endif()
    list(APPEND test_rooms ${room})
    list(APPEND test_sources_of_${room} ${source})
  endforeach()
  list(APPEND test_sources_of_live ${standin_sources})
  list(REMOVE_DUPLICATES test_rooms)
  # Those that spend their time in loops of their own are optimised.
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/src/analytic/search/space_test.cc
    ${PROJECT_SOURCE_DIR}/src/network/flow/random_test.cc
    ${PROJECT_SOURCE_DIR}/tests/replay_probes_test.cc
    PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  set(test_objects)
  set(headers_from)
  foreach(room IN LISTS test_rooms)
    flopcast_add_test_objects(tests_${room} ${test_sources_of_${room}})
    if(headers_from)
      flopcast_unite(tests_${room} ACROSS_FOLDERS)
      target_precompile_headers(tests_${room} REUSE_FROM ${headers_from})
    else()
      flopcast_speed_up(tests_${room} ACROSS_FOLDERS ${test_headers})
      set(headers_from tests_${room})
    endif()
    list(APPEND test_objects $<TARGET_OBJECTS:tests_${room}>)
    add_executable(${room}_tests EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tests_${room}>)
    set_target_properties(${room}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    flopcast_test_executable(${room}_tests)
  endforeach()
  add_executable(flopcast_tests ${test_objects})
  # For build trees that link them as well (FLOPCAST_TESTS_FROM).
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_objects.txt CONTENT "$<JOIN:$<FILTER:${test_objects},INCLUDE,[.]o$>,\n>\n")
endif()
if(TARGET flopcast_tests)
  flopcast_test_executable(flopcast_tests)
  if(NOT FLOPCAST_CHECKS)  # there, ./dev runs them in a few processes
    gtest_discover_tests(flopcast_tests
      DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "${test_environment}")
  endif()
endif()

# --- Fuzz targets ------------------------------------------------------------------------------
# One program of them all (tests/support/fuzz_main.cc), and a table of their names and seeds. The seeds of
# src/trace/kineto/kineto_fuzz.cc: src/trace/kineto/corpus/kineto if there, else src/trace/kineto/corpus.
set(fuzz_sources ${all_sources})
list(FILTER fuzz_sources INCLUDE REGEX "_fuzz\\.cc$")
set(fuzz_table)
if(NOT FLOPCAST_SANITIZE OR FLOPCAST_ONLY_THREAD_TESTS)
  set(fuzz_sources)  # they say most with address and undefined sanitizers
endif()
if(fuzz_sources)
  add_library(flopcast_fuzz_targets OBJECT ${fuzz_sources})
  flopcast_unite(flopcast_fuzz_targets ACROSS_FOLDERS)
  target_include_directories(flopcast_fuzz_targets PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(flopcast_fuzz_targets PRIVATE flopcast_internal)
  add_executable(flopcast_fuzz
    ${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.cc $<TARGET_OBJECTS:flopcast_fuzz_targets>)
  target_include_directories(flopcast_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(flopcast_fuzz PRIVATE flopcast_internal flopcast_cli_lib)
  set(fuzz_options)
  if(FLOPCAST_LIBFUZZER)
    target_precompile_headers(flopcast_fuzz_targets PRIVATE ${FLOPCAST_COMMON_HEADERS})
    target_compile_definitions(flopcast_fuzz PRIVATE FLOPCAST_LIBFUZZER)
    target_link_options(flopcast_fuzz PRIVATE -fsanitize=fuzzer)
    set(fuzz_options -runs=0)
  else()
    target_compile_options(flopcast_fuzz_targets PRIVATE -O0)  # as those whose precompiled headers it takes
    target_precompile_headers(flopcast_fuzz_targets REUSE_FROM flopcast_cli_lib)
  endif()
endif()
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM LAST_ONLY subject)
  string(REGEX REPLACE "_fuzz$" "" subject ${subject})
  cmake_path(GET source PARENT_PATH folder)
  # src/trace/kineto/kineto_fuzz.cc is trace_kineto_kineto_fuzz: a subject may recur in another room.
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
  string(REGEX REPLACE "\\.cc$" "" name ${name})
  string(REPLACE "/" "_" name ${name})
  set(corpus)
  foreach(candidate IN ITEMS ${folder}/corpus/${subject} ${folder}/corpus)
    if(IS_DIRECTORY ${candidate})
      set(corpus ${candidate})
      break()
    endif()
  endforeach()
  string(APPEND fuzz_table "${name}\t${corpus}\n")
  add_test(NAME fuzz.${name} COMMAND flopcast_fuzz ${name} ${fuzz_options} ${corpus})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 300
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/fuzz_targets.tsv CONTENT "${fuzz_table}" @ONLY)

# --- Checks outside this build tree ------------------------------------------------------------
# Each is `./dev check NAME`; exit code 77 means that what it needs has not been built or installed.
if(FLOPCAST_CHECKS)
  function(flopcast_add_check name label cost)
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/dev check ${ARGN}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # ctest starts the costliest tests first.
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 1800
                         COST ${cost} ENVIRONMENT FLOPCAST_CHECK=${name})
  endfunction()
  # Few processes: starting 2,000 costs more than most of the cases that they would run.
  set(unit_shards 8)
  foreach(shard RANGE 1 ${unit_shards})
    flopcast_add_check(unit.${shard}_of_${unit_shards} unit 950 unit ${shard} ${unit_shards})
  endforeach()
  set(asan_shards 4)
  foreach(shard RANGE 1 ${asan_shards})
    flopcast_add_check(asan.unit.${shard}_of_${asan_shards} asan 1000 asan ${shard} ${asan_shards})
  endforeach()
  flopcast_add_check(asan.fuzz_corpus asan 800 asan-fuzz)
  flopcast_add_check(tsan.threads tsan 900 tsan)
  flopcast_add_check(python python 700 python)
  flopcast_add_check(pages pages 680 pages)
  flopcast_add_check(live live 690 live)
  flopcast_add_check(consumer consumer 650 consumer)
  flopcast_add_check(wheel packages 640 wheel)
  flopcast_add_check(deb packages 640 deb)
  flopcast_add_check(hostile hostile 500 hostile)
  flopcast_add_check(lint.format lint 600 format)
  flopcast_add_check(lint.floors lint 600 floors)
  flopcast_add_check(lint.web lint 600 web)
endif()
