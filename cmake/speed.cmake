# flopcast_unite(TARGET [ACROSS_FOLDERS]): compiles the target's sources folder by folder, or as few units as there can be.
# flopcast_speed_up(TARGET [ACROSS_FOLDERS] [HEADER..]): that, and parses the headers of others that most sources include,
# and those named, once.

set(FLOPCAST_COMMON_HEADERS
    <algorithm> <array> <charconv> <cmath> <cstdint> <deque> <filesystem> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map>
    <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>
    "${PROJECT_SOURCE_DIR}/cmake/nlohmann_json.h")
# More would save little, and whoever changes a line waits for all of them.
set(FLOPCAST_UNIT_FILES 24 CACHE STRING "So many files of a folder are compiled as one, across folders half as many")

function(flopcast_unite target)
  if(NOT FLOPCAST_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  set(groups)
  set(most ${FLOPCAST_UNIT_FILES})
  if(ARGV1 STREQUAL ACROSS_FOLDERS)
    math(EXPR most "${most} / 2")
  endif()
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT alone AND source MATCHES "^${PROJECT_SOURCE_DIR}/(src|tests)/")
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
      cmake_path(GET group PARENT_PATH group)
      string(REPLACE "/" "_" group ${group})
      if(ARGV1 STREQUAL ACROSS_FOLDERS)
        # What runs inside a user's process stays apart: build trees with sanitizers have none of it.
        if(group MATCHES "^src_live_standin_")
          set(group standin)
        else()
          set(group all)
        endif()
      endif()
      list(APPEND groups ${group})
      list(APPEND sources_of_${group} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    # As few units as there can be, of equal size.
    list(LENGTH sources_of_${group} count)
    math(EXPR units "(${count} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(source IN LISTS sources_of_${group})
      math(EXPR unit "${index} * ${units} / ${count} + 1")
      math(EXPR index "${index} + 1")
      set(name ${group})
      if(units GREATER 1)
        string(APPEND name _${unit})
      endif()
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
    endforeach()
  endforeach()
endfunction()

function(flopcast_speed_up target)
  set(headers ${ARGN})
  list(REMOVE_ITEM headers ACROSS_FOLDERS)
  target_precompile_headers(${target} PRIVATE ${FLOPCAST_COMMON_HEADERS} ${headers})
  flopcast_unite(${target} ${ARGV1})
endfunction()
