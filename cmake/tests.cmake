# Unit tests (one GoogleTest executable), fuzz targets (one executable each) and, in the release
# tree, the checks that run outside it, so that one ctest call covers everything.

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
include(GoogleTest)

# Tests run in the repository root: their data lies at paths relative to it.
set(test_environment
    "FLOPCAST_CLI=$<$<TARGET_EXISTS:flopcast_cli>:$<TARGET_FILE:$<TARGET_NAME_IF_EXISTS:flopcast_cli>>>")

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
list(FILTER support_sources EXCLUDE REGEX "/fuzz_driver\\.cc$")
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
if(FLOPCAST_TESTS_FROM)
  # What they test is instrumented, they are not. Functions of headers that both hold come from the first, so the
  # library goes ahead of them.
  file(GLOB_RECURSE test_objects ${FLOPCAST_TESTS_FROM}/CMakeFiles/flopcast_tests.dir/*.o)
  list(FILTER test_objects EXCLUDE REGEX "/unity_src_live_standin_")
  add_executable(flopcast_tests ${test_objects} ${standin_sources})
  set_target_properties(flopcast_tests PROPERTIES LINKER_LANGUAGE CXX)
  target_link_options(flopcast_tests PRIVATE
    -Wl,--whole-archive $<TARGET_FILE:flopcast_cli_lib> $<TARGET_FILE:flopcast> -Wl,--no-whole-archive)
elseif(test_sources)
  add_executable(flopcast_tests ${test_sources} ${standin_sources} ${support_sources})
  target_include_directories(flopcast_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  flopcast_speed_up(flopcast_tests <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)
  # Quick to compile: what they test is optimised. Behaviour that the language leaves undefined is looked for in the
  # library and in fuzz targets.
  target_compile_options(flopcast_tests PRIVATE -O0
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=undefined>)
  # But for the definition of flows written out, which is slow as it is.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/network/flow/random_test.cc PROPERTIES
    COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endif()
if(TARGET flopcast_tests)
  target_link_libraries(flopcast_tests PRIVATE
    flopcast_internal $<TARGET_NAME_IF_EXISTS:flopcast_cli_lib> rapidcheck GTest::gmock
    GTest::gtest_main)
  if(TARGET flopcast_cli)
    add_dependencies(flopcast_tests flopcast_cli)
  endif()
  if(TARGET flopcast_live13)
    target_compile_definitions(flopcast_tests PRIVATE
      FLOPCAST_LIVE_CORE="$<TARGET_FILE:flopcast_live13>")
    add_dependencies(flopcast_tests flopcast_live13)
  endif()
  gtest_discover_tests(flopcast_tests
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "${test_environment}")
endif()

# --- Fuzz targets ------------------------------------------------------------------------------
# Seeds of src/trace/kineto/kineto_fuzz.cc: src/trace/kineto/corpus/kineto if there, else
# src/trace/kineto/corpus.
set(fuzz_sources ${all_sources})
list(FILTER fuzz_sources INCLUDE REGEX "_fuzz\\.cc$")
set(fuzz_table)
if(NOT FLOPCAST_SANITIZE OR FLOPCAST_ONLY_THREAD_TESTS)
  set(fuzz_sources)  # they say most with address and undefined sanitizers
endif()
if(fuzz_sources AND NOT FLOPCAST_LIBFUZZER)
  add_library(flopcast_fuzz_driver OBJECT ${PROJECT_SOURCE_DIR}/tests/support/fuzz_driver.cc)
  target_link_libraries(flopcast_fuzz_driver PRIVATE flopcast_options fmt::fmt nlohmann_json::nlohmann_json)
  # As an executable is compiled, so that targets can take its headers.
  set_target_properties(flopcast_fuzz_driver PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(flopcast_fuzz_driver PRIVATE -fPIE)
  target_precompile_headers(flopcast_fuzz_driver PRIVATE ${FLOPCAST_COMMON_HEADERS})
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

  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE flopcast_internal $<TARGET_NAME_IF_EXISTS:flopcast_cli_lib>)
  if(FLOPCAST_LIBFUZZER)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${name} -runs=0 ${corpus})
  else()
    target_link_libraries(${name} PRIVATE flopcast_fuzz_driver)
    target_precompile_headers(${name} REUSE_FROM flopcast_fuzz_driver)
    add_test(NAME fuzz.${name} COMMAND ${name} ${corpus})
  endif()
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
                         COST ${cost})
  endfunction()
  flopcast_add_check(asan.unit.1_of_2 asan 1000 asan 0 2)
  flopcast_add_check(asan.unit.2_of_2 asan 1000 asan 1 2)
  flopcast_add_check(asan.fuzz_corpus asan 800 asan-fuzz)
  flopcast_add_check(tsan.threads tsan 900 tsan)
  flopcast_add_check(python python 700 python)
  flopcast_add_check(pages pages 680 pages)
  flopcast_add_check(live live 690 live)
  flopcast_add_check(consumer consumer 650 consumer)
  flopcast_add_check(hostile hostile 500 hostile)
  flopcast_add_check(lint.format lint 600 format)
  flopcast_add_check(lint.floors lint 600 floors)
  flopcast_add_check(lint.web lint 600 web)
endif()
