# hotproof_wheels(FOLDER MARKER WHEELS... ): pinned wheels from PyPI, unpacked once into
# build/downloads/FOLDER, where every build folder of this checkout finds them. Only files that match
# PATTERNS are kept. Used by CudaHeaders.cmake and, before project(), by ZigToolchain.cmake.
# HOTPROOF_DOWNLOADS is the folder. Needs python3 with pip at the first call only.
get_filename_component(HOTPROOF_DOWNLOADS "${CMAKE_CURRENT_LIST_DIR}/../build/downloads" ABSOLUTE)

function(hotproof_wheels folder)
  cmake_parse_arguments(arg "" "" "WHEELS;PATTERNS" ${ARGN})
  set(root "${HOTPROOF_DOWNLOADS}/${folder}")
  string(REPLACE ";" "\n" pins "${arg_WHEELS}")
  file(MAKE_DIRECTORY "${HOTPROOF_DOWNLOADS}")
  file(LOCK "${HOTPROOF_DOWNLOADS}/${folder}.lock" GUARD FUNCTION TIMEOUT 600)
  if(EXISTS "${root}/done")
    file(READ "${root}/done" have)
    if(have STREQUAL pins)
      return()
    endif()
  endif()
  message(STATUS "Fetching from PyPI: ${arg_WHEELS}")
  file(REMOVE_RECURSE "${root}")
  file(MAKE_DIRECTORY "${root}/wheels")
  # Newest manylinux tag first; pip takes the first that a wheel has.
  set(platforms "")
  foreach(tag manylinux_2_28 manylinux_2_27 manylinux_2_25 manylinux_2_17 manylinux_2_12
              manylinux2014 manylinux2010 manylinux1)
    list(APPEND platforms --platform ${tag}_x86_64)
  endforeach()
  execute_process(
    COMMAND python3 -m pip download --quiet --disable-pip-version-check --no-deps
            --only-binary=:all: ${platforms} -d "${root}/wheels" ${arg_WHEELS}
    RESULT_VARIABLE status ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "pip could not download ${arg_WHEELS}: check the network and that python3-pip "
      "is installed (scripts/setup installs it). pip said:\n${errors}")
  endif()
  file(GLOB wheels "${root}/wheels/*.whl")
  foreach(wheel IN LISTS wheels)
    file(ARCHIVE_EXTRACT INPUT "${wheel}" DESTINATION "${root}" PATTERNS ${arg_PATTERNS})
  endforeach()
  file(REMOVE_RECURSE "${root}/wheels")
  file(WRITE "${root}/done" "${pins}")
endfunction()
