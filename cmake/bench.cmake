# Every *_bench.cc in bench/ and beside the code is one Google Benchmark executable.

find_package(benchmark REQUIRED)

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
set(room_benches ${all_sources})
list(FILTER room_benches INCLUDE REGEX "_bench\\.cc$")
list(APPEND bench_sources ${room_benches})

foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM LAST_ONLY name)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(${name} PRIVATE flopcast_internal benchmark::benchmark_main)
endforeach()
