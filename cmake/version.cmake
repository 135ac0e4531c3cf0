# Generates flopcast/version.h and version.cc. The git revision lives in version.cc alone, so a new
# commit recompiles that one file and nothing that includes the header.
#
# Run as a script (cmake -P) this file is the build step that refreshes version.cc.

function(flopcast_write_version_source source_dir out)
  set(revision unknown)
  find_program(GIT_PROGRAM git)
  if(GIT_PROGRAM)
    execute_process(COMMAND ${GIT_PROGRAM} -C ${source_dir} rev-parse --show-toplevel
                    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${GIT_PROGRAM} -C ${source_dir} rev-parse --short=12 HEAD
                    OUTPUT_VARIABLE head ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
                    RESULT_VARIABLE failed)
    # An unpacked source archive may lie inside somebody else's repository.
    file(REAL_PATH "${source_dir}" real_source)
    if(NOT failed AND top STREQUAL real_source)
      set(revision ${head})
    endif()
  endif()
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[
#include "flopcast/version.h"

namespace flopcast {
std::string_view git_revision() noexcept { return "@revision@"; }
}  // namespace flopcast
]])
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  flopcast_write_version_source(${SOURCE_DIR} ${OUT})
  return()
endif()

set(flopcast_version_script ${CMAKE_CURRENT_LIST_FILE})

function(flopcast_add_version generated_dir sources_var)
  file(CONFIGURE OUTPUT ${generated_dir}/flopcast/version.h @ONLY CONTENT [[
#pragma once

#include <string_view>

namespace flopcast {

inline constexpr std::string_view kVersion = "@PROJECT_VERSION@";

/// Short hash of the commit this library was built from, or "unknown" outside a git checkout.
std::string_view git_revision() noexcept;

}  // namespace flopcast
]])
  set(out ${generated_dir}/version.cc)
  flopcast_write_version_source(${PROJECT_SOURCE_DIR} ${out})
  add_custom_target(flopcast_version
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUT=${out}
            -P ${flopcast_version_script}
    BYPRODUCTS ${out}
    COMMENT "Reading the git revision" VERBATIM)
  set(${sources_var} ${out} PARENT_SCOPE)
endfunction()
