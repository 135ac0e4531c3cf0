# flopcast_speed_up(TARGET [HEADER..]): compiles the target's sources folder by folder, and parses the
# headers of others that most of them include, and those named, once.
# flopcast_unite(TARGET): the first of these alone.

set(FLOPCAST_COMMON_HEADERS
    <algorithm> <array> <charconv> <cmath> <cstdint> <deque> <filesystem> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map>
    <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>
    "${PROJECT_SOURCE_DIR}/cmake/nlohmann_json.h")
# More would save little, and whoever changes a line waits for all of them.
set(FLOPCAST_UNIT_FILES 12 CACHE STRING "So many files of a folder are compiled as one")

function(flopcast_unite target)
  if(NOT FLOPCAST_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source IN LISTS sources)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${source} own)
    if(own AND source MATCHES "^${PROJECT_SOURCE_DIR}/(src|tests)/")
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
      cmake_path(GET folder PARENT_PATH folder)
      string(REPLACE "/" "_" folder ${folder})
      list(APPEND folders ${folder})
      list(APPEND sources_of_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    # As few units as there can be, of equal size.
    list(LENGTH sources_of_${folder} count)
    math(EXPR units "(${count} + ${FLOPCAST_UNIT_FILES} - 1) / ${FLOPCAST_UNIT_FILES}")
    set(index 0)
    foreach(source IN LISTS sources_of_${folder})
      math(EXPR unit "${index} * ${units} / ${count} + 1")
      math(EXPR index "${index} + 1")
      set(group ${folder})
      if(units GREATER 1)
        string(APPEND group _${unit})
      endif()
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endforeach()
endfunction()

function(flopcast_speed_up target)
  target_precompile_headers(${target} PRIVATE ${FLOPCAST_COMMON_HEADERS} ${ARGN})
  flopcast_unite(${target})
endfunction()
