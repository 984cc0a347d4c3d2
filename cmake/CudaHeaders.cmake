# CUDA, CUPTI and NVTX headers from pinned PyPI wheels, unpacked into the build folder. The tracer is
# always built against exactly these, whatever toolkit the machine has; nothing of NVIDIA's is linked.
# Gives the INTERFACE target hotproof_cuda_headers.
set(HOTPROOF_CUDA_WHEELS
  nvidia-cuda-cupti==13.0.85
  nvidia-cuda-runtime==13.0.88
  nvidia-cuda-crt==13.0.88
  nvidia-nvtx==13.0.85)
set(HOTPROOF_CUDA_HEADERS "" CACHE PATH
  "Folder with cuda.h, cupti.h and nvtx3/ to use instead of the pinned wheels (machines without a registry)")

if(NOT HOTPROOF_CUDA_HEADERS)
  set(_root "${CMAKE_BINARY_DIR}/cuda_headers")
  if(NOT EXISTS "${_root}/done")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    message(STATUS "Fetching CUDA header wheels: ${HOTPROOF_CUDA_WHEELS}")
    file(MAKE_DIRECTORY "${_root}/wheels")
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" -m pip download --quiet --disable-pip-version-check --no-deps
              --only-binary=:all: --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64
              --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64
              --platform manylinux2014_x86_64 --platform manylinux1_x86_64 -d "${_root}/wheels"
              ${HOTPROOF_CUDA_WHEELS}
      RESULT_VARIABLE _rc)
    if(NOT _rc EQUAL 0)
      message(FATAL_ERROR "pip could not download the CUDA header wheels into ${_root}/wheels; "
        "check the network, or pass -DHOTPROOF_CUDA_HEADERS=<folder with cuda.h and cupti.h>")
    endif()
    file(GLOB _wheels "${_root}/wheels/*.whl")
    foreach(_wheel IN LISTS _wheels)
      file(ARCHIVE_EXTRACT INPUT "${_wheel}" DESTINATION "${_root}" PATTERNS "nvidia/*/include/*")
    endforeach()
    file(REMOVE_RECURSE "${_root}/wheels")
    file(TOUCH "${_root}/done")
  endif()
  set(_include "${_root}/nvidia/cu13/include")
else()
  set(_include "${HOTPROOF_CUDA_HEADERS}")
endif()
foreach(_header cuda.h cupti.h)
  if(NOT EXISTS "${_include}/${_header}")
    message(FATAL_ERROR "${_header} not found in ${_include}; remove ${CMAKE_BINARY_DIR}/cuda_headers and configure again")
  endif()
endforeach()
add_library(hotproof_cuda_headers INTERFACE)
target_include_directories(hotproof_cuda_headers SYSTEM INTERFACE "${_include}")
