# CUDA, CUPTI and NVTX headers from pinned PyPI wheels. The tracer is always built against exactly
# these, whatever toolkit the machine has; nothing of NVIDIA's is linked.
# Gives the INTERFACE target hotproof_cuda_headers.
include(Downloads)
set(HOTPROOF_CUDA_WHEELS
  nvidia-cuda-cupti==13.0.85
  nvidia-cuda-runtime==13.0.88
  nvidia-cuda-crt==13.0.88
  nvidia-nvtx==13.0.85)
set(HOTPROOF_CUDA_HEADERS "" CACHE PATH
  "Folder with cuda.h, cupti.h and nvtx3/ to use instead of the pinned wheels (machines without a registry)")

if(HOTPROOF_CUDA_HEADERS)
  set(_include "${HOTPROOF_CUDA_HEADERS}")
else()
  hotproof_wheels(cuda_headers WHEELS ${HOTPROOF_CUDA_WHEELS} PATTERNS "nvidia/*/include/*")
  set(_include "${HOTPROOF_DOWNLOADS}/cuda_headers/nvidia/cu13/include")
endif()
foreach(_header cuda.h cupti.h nvtx3/nvToolsExt.h)
  if(NOT EXISTS "${_include}/${_header}")
    message(FATAL_ERROR "${_header} not found in ${_include}; remove ${HOTPROOF_DOWNLOADS}/cuda_headers "
      "(or correct HOTPROOF_CUDA_HEADERS) and configure again")
  endif()
endforeach()
add_library(hotproof_cuda_headers INTERFACE)
target_include_directories(hotproof_cuda_headers SYSTEM INTERFACE "${_include}")
