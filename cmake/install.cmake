# What `cmake --install` puts into a prefix, which may be moved afterwards: the command, the library with
# its public headers, and what find_package and pkg-config need to find it. The component "command", the first of these,
# is what a .deb holds (`./dev deb`). The component "wheel", for a Python wheel (`./dev wheel`, `pip install .`), is the
# command and the Python module, laid out as a wheel is; nothing else installs it. As a part of another project
# nothing is installed.

# The command looks for them under its prefix, or in its package (src/live/start/setup/places.cc).
function(flopcast_install_live folder)
  if(TARGET flopcast_live_shims)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/live/ DESTINATION ${folder} USE_SOURCE_PERMISSIONS ${ARGN})
  endif()
endfunction()

if(TARGET flopcast_python)
  if(NOT SKBUILD)
    set(SKBUILD_SCRIPTS_DIR flopcast-${PROJECT_VERSION}.data/scripts)
  endif()
  set(in_wheel COMPONENT wheel EXCLUDE_FROM_ALL)
  install(TARGETS flopcast_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} ${in_wheel})
  flopcast_install_live(flopcast/live ${in_wheel})
  install(TARGETS flopcast_python LIBRARY DESTINATION flopcast ${in_wheel})
  install(FILES $<TARGET_FILE_DIR:flopcast_python>/_native.pyi DESTINATION flopcast ${in_wheel})
endif()
if(SKBUILD OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flopcast)

target_compile_features(flopcast INTERFACE cxx_std_20)
install(TARGETS flopcast_cli COMPONENT command)
flopcast_install_live(${CMAKE_INSTALL_LIBDIR}/flopcast/live COMPONENT command)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT command)
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
Requires.private: fmt simdjson pugixml libisal libzstd re2 yaml-cpp
Cflags: -I${includedir}
Libs: -L${libdir} -lflopcast
Libs.private: -pthread
]])
install(FILES ${PROJECT_BINARY_DIR}/flopcast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# A Debian package of the command; what it links, dpkg-shlibdeps finds.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flopcast)
set(CPACK_PACKAGE_CONTACT "The Flopcast developers <flopcast@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL command)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME flopcast)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Of libraries in the package itself, which no other package has.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
