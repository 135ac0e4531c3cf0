# The libraries that stand in for NVIDIA's, per CUDA major in live/cuda<MAJOR>/ of the build tree:
#   libflopcast_live.so      the core: what is real, and a stub for every other function of the table
#   libcudart.so.13, ...     one thin library per SONAME: its version node, and that it needs the core
#   libflopcast_preload.so   needs them all: the one to preload
#   bin/nvidia-smi           a program that asks NVML; on the PATH of what a run starts
# Sources and version scripts are generated from src/live/standin/api/; docs/theory/live.md says why.

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

set(live_core_sources ${all_sources})
list(FILTER live_core_sources INCLUDE REGEX "/src/live/standin/")
list(FILTER live_core_sources EXCLUDE REGEX "/src/live/standin/(torch|smi)/|_(test|fuzz)\\.cc$")
file(GLOB live_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/live/standin/api/*.tsv)
set(live_generator ${PROJECT_SOURCE_DIR}/src/live/standin/api/generate.py)
set(live_interposed ${PROJECT_SOURCE_DIR}/src/live/standin/clock/interposed.txt)
add_custom_target(flopcast_live_shims ALL)

# What answers otherwise to another CUDA is compiled for each, the rest once. (A file that asks for the version and was
# taken for the rest does not compile.)
function(flopcast_live_core target)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE flopcast_options)
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden UNITY_BUILD ${FLOPCAST_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()
set(live_versioned_sources)
foreach(source IN LISTS live_core_sources)
  file(STRINGS ${source} versioned REGEX FLOPCAST_CUDA_MAJOR LIMIT_COUNT 1)
  if(versioned)
    list(APPEND live_versioned_sources ${source})
  endif()
endforeach()
list(REMOVE_ITEM live_core_sources ${live_versioned_sources})
flopcast_live_core(flopcast_live_core ${live_core_sources})
target_compile_options(flopcast_live_core PRIVATE -Werror=undef)

# A library named exactly NAME in FOLDER, that needs no library but those it is told to link.
function(flopcast_live_library target name folder version_script)
  set_target_properties(${target} PROPERTIES
    PREFIX "" SUFFIX "" OUTPUT_NAME ${name} NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${folder}
    BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN" CXX_VISIBILITY_PRESET hidden
    LINK_DEPENDS "${version_script}")
  # DT_RPATH: it goes before LD_LIBRARY_PATH, which may hold real libraries.
  target_link_options(${target} PRIVATE -Wl,-soname,${name} -Wl,--disable-new-dtags)
  if(version_script)
    target_link_options(${target} PRIVATE -Wl,--version-script=${version_script})
  endif()
  add_dependencies(flopcast_live_shims ${target})
endfunction()

function(flopcast_add_live_shims major)
  set(table ${PROJECT_SOURCE_DIR}/src/live/standin/api/cuda${major}.tsv)
  set(folder ${PROJECT_BINARY_DIR}/live/cuda${major})
  set(generated ${generated_dir}/live/cuda${major})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} heads REGEX "^@")
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/live/standin/api/cute.tsv cute REGEX "^@")
  list(APPEND heads ${cute})
  set(sonames)
  set(products ${generated}/stubs.cc ${generated}/core.map ${generated}/preload.cc)
  foreach(head IN LISTS heads)
    string(REGEX REPLACE "^@[^\t]*\t([^\t]*)\t.*" "\\1" soname "${head}")
    list(APPEND sonames ${soname})
    list(APPEND products ${generated}/${soname}.cc ${generated}/${soname}.map)
  endforeach()

  set(core flopcast_live_core${major})
  flopcast_live_core(${core} ${live_versioned_sources})
  target_compile_definitions(${core} PRIVATE FLOPCAST_CUDA_MAJOR=${major})
  set(objects $<TARGET_OBJECTS:flopcast_live_core> $<TARGET_OBJECTS:${core}>)

  add_custom_command(
    OUTPUT ${products}
    COMMAND ${Python3_EXECUTABLE} ${live_generator} --nm ${CMAKE_NM} --interposed ${live_interposed}
            ${table} ${generated}
            ${objects}
    DEPENDS ${live_generator} ${live_tables} ${live_interposed} ${objects}
    COMMENT "Generating stand-ins for the libraries of CUDA ${major}"
    VERBATIM COMMAND_EXPAND_LISTS)

  set(live flopcast_live${major})
  add_library(${live} SHARED ${generated}/stubs.cc ${objects})
  set_source_files_properties(${generated}/stubs.cc PROPERTIES COMPILE_OPTIONS -O0)  # thousands; none but tells its name or sizes
  target_include_directories(${live} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  flopcast_live_library(${live} libflopcast_live.so ${folder} ${generated}/core.map)
  # The program may bring an older libstdc++ of its own. What the core takes over of that goes before the core's own.
  target_link_options(${live} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL
                      -Wl,--allow-multiple-definition -Wl,-z,defs)
  target_link_libraries(${live} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

  set(thin_libraries)
  foreach(soname IN LISTS sonames)
    set(thin flopcast_live${major}_${soname})
    add_library(${thin} SHARED ${generated}/${soname}.cc)
    flopcast_live_library(${thin} ${soname} ${folder} ${generated}/${soname}.map)
    target_link_options(${thin} PRIVATE -nostdlib -Wl,--no-as-needed)
    target_link_libraries(${thin} PRIVATE ${live})
    list(APPEND thin_libraries ${thin})
  endforeach()
  # Installers leave these names for linkers: what Triton 3.5 compiles is linked with the driver's, extensions that engines compile
  # when they first need them with the runtime's, and Transformer Engine loads the others. It needs cuDNN's parts besides, all of
  # which are one library here.
  set(also "libcuda.so.1 libcuda.so" "libcudart.so.${major} libcudart.so" "libcudnn.so.9 libcudnn.so" "libnvrtc.so.${major} libnvrtc.so"
           "libcurand.so.10 libcurand.so")
  foreach(part IN ITEMS adv cnn engines_precompiled engines_runtime_compiled graph heuristic ops)
    list(APPEND also "libcudnn.so.9 libcudnn_${part}.so.9")
  endforeach()
  foreach(names IN LISTS also)
    separate_arguments(names)
    list(GET names 0 library)
    list(GET names 1 name)
    add_custom_command(TARGET flopcast_live${major}_${library} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink ${library} ${folder}/${name} VERBATIM)
  endforeach()

  set(smi flopcast_live${major}_smi)
  file(GLOB smi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/live/standin/smi/*.cc)
  add_executable(${smi} ${smi_sources})
  target_include_directories(${smi} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${smi} PRIVATE flopcast_options flopcast_live${major}_libnvidia-ml.so.1 ${live})
  target_link_options(${smi} PRIVATE -static-libstdc++ -static-libgcc -Wl,--disable-new-dtags)
  set_target_properties(${smi} PROPERTIES
    OUTPUT_NAME nvidia-smi RUNTIME_OUTPUT_DIRECTORY ${folder}/bin
    BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN/..")
  add_dependencies(flopcast_live_shims ${smi})

  set(preload flopcast_live${major}_preload)
  add_library(${preload} SHARED ${generated}/preload.cc)
  flopcast_live_library(${preload} libflopcast_preload.so ${folder} "")
  target_link_options(${preload} PRIVATE -nostdlib -Wl,--no-as-needed)
  target_link_libraries(${preload} PRIVATE ${live} ${thin_libraries})
endfunction()

# Compiled on the user's machine, against the PyTorch that is there (src/live/start/torch_build).
file(GLOB live_plugin_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
     ${PROJECT_SOURCE_DIR}/src/live/standin/torch/*.cc ${PROJECT_SOURCE_DIR}/src/live/standin/torch/*.h)
foreach(source IN ITEMS ${live_plugin_sources} live/standin/values/plugin.h live/standin/operators/operator.h)
  configure_file(${PROJECT_SOURCE_DIR}/src/${source} ${PROJECT_BINARY_DIR}/live/plugin/${source}
                 COPYONLY)
endforeach()

# Makes the ranks of a run out of one process; folded.py is of runs whose ranks stand for others.
foreach(program IN ITEMS serve.py folded.py)
  configure_file(${PROJECT_SOURCE_DIR}/src/live/start/launch/${program}
                 ${PROJECT_BINARY_DIR}/live/${program} COPYONLY)
endforeach()

flopcast_add_live_shims(13)
flopcast_add_live_shims(12)
