# flopcast_speed_up(TARGET [HEADER..]): compiles the target's sources folder by folder, and parses the
# headers of others that most of them include, and those named, once.

set(FLOPCAST_COMMON_HEADERS
    <algorithm> <array> <charconv> <cmath> <cstdint> <deque> <filesystem> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map>
    <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)

function(flopcast_speed_up target)
  target_precompile_headers(${target} PRIVATE ${FLOPCAST_COMMON_HEADERS} ${ARGN})
  if(NOT FLOPCAST_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${source} own)
    if(own AND source MATCHES "^${PROJECT_SOURCE_DIR}/(src|tests)/")
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
      cmake_path(GET group PARENT_PATH group)
      string(REPLACE "/" "_" group ${group})
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
