# Embeds files as byte arrays.
#   web/*.{html,js,css}   web_assets.h: one function per file; web/report.html becomes
#                         `std::string_view flopcast::web::report_html()`
#   catalog/**.toml       catalog_files.h: `flopcast::catalog_files()`, every file with its path
#
# Byte arrays and not string literals: compilers limit the length of a literal, and an array may
# hold any byte. Run as a script (cmake -P) this file is the build step that embeds one file.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${IN} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes
         "${bytes}")
  file(WRITE ${OUT} "// Generated from ${NAME}. Do not edit.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {
// The closing zero keeps the array non-empty and is not part of the text.
const unsigned char kBytes[] = {
${bytes}0x00};
}  // namespace

std::string_view ${FUNCTION}() noexcept {
  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes) - 1};
}

}  // namespace ${NAMESPACE}
")
  return()
endif()

set(flopcast_embed_script ${CMAKE_CURRENT_LIST_FILE})

# One file as the function NAMESPACE::FUNCTION(), declared in HEADER, defined in OUT.
function(flopcast_embed_file file namespace function header out)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${out} -DNAME=${name} -DNAMESPACE=${namespace}
            -DFUNCTION=${function} -DHEADER=${header} -P ${flopcast_embed_script}
    DEPENDS ${file} ${flopcast_embed_script}
    COMMENT "Embedding ${name}" VERBATIM)
endfunction()

function(flopcast_embed_web web_dir generated_dir sources_var)
  file(GLOB assets CONFIGURE_DEPENDS ${web_dir}/*.html ${web_dir}/*.js ${web_dir}/*.css)
  set(sources)
  set(declarations)
  foreach(asset IN LISTS assets)
    cmake_path(GET asset FILENAME name)
    string(MAKE_C_IDENTIFIER "${name}" function)
    set(out ${generated_dir}/web_${function}.cc)
    flopcast_embed_file(${asset} flopcast::web ${function} web_assets.h ${out})
    list(APPEND sources ${out})
    string(APPEND declarations
           "/// The text of web/${name}.\nstd::string_view ${function}() noexcept;\n")
  endforeach()
  file(CONFIGURE OUTPUT ${generated_dir}/web_assets.h @ONLY CONTENT [[
// Generated from the files in web/. Do not edit.
#pragma once

#include <string_view>

namespace flopcast::web {

@declarations@
}  // namespace flopcast::web
]])
  set(${sources_var} ${sources} PARENT_SCOPE)
endfunction()

function(flopcast_embed_catalog catalog_dir generated_dir sources_var)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${catalog_dir}/*.toml)
  list(SORT files)
  list(LENGTH files count)
  set(sources ${generated_dir}/catalog_files.cc)
  set(declarations)
  set(entries)
  foreach(file IN LISTS files)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${catalog_dir} OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER "${name}" function)
    set(out ${generated_dir}/catalog_${function}.cc)
    flopcast_embed_file(${file} flopcast::catalog_data ${function} catalog_files.h ${out})
    list(APPEND sources ${out})
    string(APPEND declarations "std::string_view ${function}() noexcept;\n")
    string(APPEND entries "      CatalogFile{\"${name}\", catalog_data::${function}()},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${generated_dir}/catalog_files.h @ONLY CONTENT [[
// Generated from the files in catalog/. Do not edit.
#pragma once

#include <span>
#include <string_view>

namespace flopcast {

struct CatalogFile {
  std::string_view path;  ///< below catalog/
  std::string_view text;
};
/// Every file of the built-in catalogue, sorted by path.
std::span<const CatalogFile> catalog_files();

namespace catalog_data {
@declarations@
}  // namespace catalog_data
}  // namespace flopcast
]])
  file(CONFIGURE OUTPUT ${generated_dir}/catalog_files.cc @ONLY CONTENT [[
// Generated from the files in catalog/. Do not edit.
#include "catalog_files.h"

#include <array>

namespace flopcast {

std::span<const CatalogFile> catalog_files() {
  static const std::array<CatalogFile, @count@> files = {
@entries@  };
  return files;
}

}  // namespace flopcast
]])
  set(${sources_var} ${sources} PARENT_SCOPE)
endfunction()
