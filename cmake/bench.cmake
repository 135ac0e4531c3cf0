# Every *_bench.cc in bench/ and beside the code is one Google Benchmark executable.

find_package(benchmark REQUIRED)
# The rival of the flow simulator; without it its bench is left out.
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
set(room_benches ${all_sources})
list(FILTER room_benches INCLUDE REGEX "_bench\\.cc$")
list(APPEND bench_sources ${room_benches})
if(NOT SIMGRID_INCLUDE_DIR OR NOT SIMGRID_LIBRARY)
  list(FILTER bench_sources EXCLUDE REGEX "/simgrid_bench\\.cc$")
endif()

# Compiled as the library is, so that they can take its precompiled headers.
add_library(flopcast_benches OBJECT ${bench_sources})
target_include_directories(flopcast_benches PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(flopcast_benches PRIVATE flopcast_internal benchmark::benchmark)
target_precompile_headers(flopcast_benches REUSE_FROM flopcast)
foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM LAST_ONLY name)
  add_executable(${name} $<FILTER:$<TARGET_OBJECTS:flopcast_benches>,INCLUDE,/${name}[.]cc[.]o$>)
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(${name} PRIVATE flopcast_internal benchmark::benchmark_main)
endforeach()
if(TARGET simgrid_bench)
  target_include_directories(flopcast_benches SYSTEM PRIVATE ${SIMGRID_INCLUDE_DIR})
  target_link_libraries(simgrid_bench PRIVATE ${SIMGRID_LIBRARY})
endif()
# A program on the stand-ins, which it loads itself.
if(TARGET flopcast_live13)
  target_compile_definitions(flopcast_benches PRIVATE FLOPCAST_LIVE_CORE="$<TARGET_FILE:flopcast_live13>")
  add_dependencies(live_record_bench flopcast_live13)
endif()
