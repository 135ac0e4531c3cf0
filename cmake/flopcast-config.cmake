# find_package(flopcast) reads this: what the static library links, then the target flopcast::flopcast.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(simdjson)
find_dependency(pugixml)

find_library(FLOPCAST_ISAL_LIBRARY isal)
if(NOT FLOPCAST_ISAL_LIBRARY)
  set(flopcast_FOUND FALSE)
  set(flopcast_NOT_FOUND_MESSAGE "flopcast links libisal, which is not there (FLOPCAST_ISAL_LIBRARY)")
  return()
endif()
if(NOT TARGET flopcast::isal)
  add_library(flopcast::isal UNKNOWN IMPORTED)
  set_target_properties(flopcast::isal PROPERTIES IMPORTED_LOCATION ${FLOPCAST_ISAL_LIBRARY})
endif()

include(${CMAKE_CURRENT_LIST_DIR}/flopcast-targets.cmake)
