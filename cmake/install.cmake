# What `cmake --install` puts into a prefix, which may be moved afterwards: the command, the library with
# its public headers, and what find_package and pkg-config need to find it. A Python wheel holds the
# command and the Python module only; as a part of another project nothing is installed.

# The command looks for them under its prefix, or in its package (src/live/start/setup/places.cc).
function(flopcast_install_live folder)
  if(TARGET flopcast_live_shims)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/live/ DESTINATION ${folder} USE_SOURCE_PERMISSIONS)
  endif()
endfunction()

if(SKBUILD)
  install(TARGETS flopcast_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  flopcast_install_live(flopcast/live)
  if(TARGET flopcast_python)
    install(TARGETS flopcast_python LIBRARY DESTINATION flopcast)
    install(FILES $<TARGET_FILE_DIR:flopcast_python>/_native.pyi DESTINATION flopcast)
  endif()
endif()
if(SKBUILD OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flopcast)

target_compile_features(flopcast INTERFACE cxx_std_20)
install(TARGETS flopcast_cli)
flopcast_install_live(${CMAKE_INSTALL_LIBDIR}/flopcast/live)
install(TARGETS flopcast EXPORT flopcast-targets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flopcast ${generated_dir}/flopcast
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)

install(EXPORT flopcast-targets NAMESPACE flopcast:: DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flopcast-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/flopcast-config.cmake
              ${PROJECT_BINARY_DIR}/flopcast-config-version.cmake
        DESTINATION ${config_dir})

# Everything pkg-config says is relative to where flopcast.pc lies.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/flopcast.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: flopcast
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Requires.private: fmt simdjson pugixml libisal libzstd re2
Cflags: -I${includedir}
Libs: -L${libdir} -lflopcast
Libs.private: -pthread
]])
install(FILES ${PROJECT_BINARY_DIR}/flopcast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
