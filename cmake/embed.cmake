# Embeds every web/*.{html,js,css} as a byte array, and generates web_assets.h with one function per
# file: web/report.html becomes `std::string_view flopcast::web::report_html()`.
#
# Byte arrays and not string literals: compilers limit the length of a literal, and an array may
# hold any byte. Run as a script (cmake -P) this file is the build step that embeds one file.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${IN} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes
         "${bytes}")
  file(WRITE ${OUT} "// Generated from web/. Do not edit.
#include \"web_assets.h\"

namespace flopcast::web {
namespace {
// The closing zero keeps the array non-empty and is not part of the text.
const unsigned char kBytes[] = {
${bytes}0x00};
}  // namespace

std::string_view ${FUNCTION}() noexcept {
  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes) - 1};
}

}  // namespace flopcast::web
")
  return()
endif()

set(flopcast_embed_script ${CMAKE_CURRENT_LIST_FILE})

function(flopcast_embed_web web_dir generated_dir sources_var)
  file(GLOB assets CONFIGURE_DEPENDS ${web_dir}/*.html ${web_dir}/*.js ${web_dir}/*.css)
  set(sources)
  set(declarations)
  foreach(asset IN LISTS assets)
    cmake_path(GET asset FILENAME name)
    string(MAKE_C_IDENTIFIER "${name}" function)
    set(out ${generated_dir}/web_${function}.cc)
    add_custom_command(
      OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DIN=${asset} -DOUT=${out} -DFUNCTION=${function}
              -P ${flopcast_embed_script}
      DEPENDS ${asset} ${flopcast_embed_script}
      COMMENT "Embedding web/${name}" VERBATIM)
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
