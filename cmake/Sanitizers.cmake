# HOTPROOF_SANITIZE=address (with undefined behaviour) or thread instruments everything of ours.
# Every target of ours sees HOTPROOF_SANITIZER_RUNTIME: the sanitizer's library, which has to be the
# first one preloaded into a program that is not instrumented itself; "" without a sanitizer.
set(HOTPROOF_SANITIZE "" CACHE STRING "address, thread, or empty")
set_property(CACHE HOTPROOF_SANITIZE PROPERTY STRINGS "" address thread)

set(HOTPROOF_SANITIZER_RUNTIME "")
if(HOTPROOF_SANITIZE)
  if(HOTPROOF_SANITIZE STREQUAL "address")
    set(_flags -fsanitize=address,undefined -fno-sanitize-recover=undefined)
    set(_runtime libasan.so)
  elseif(HOTPROOF_SANITIZE STREQUAL "thread")
    set(_flags -fsanitize=thread)
    set(_runtime libtsan.so)
  else()
    message(FATAL_ERROR "HOTPROOF_SANITIZE is '${HOTPROOF_SANITIZE}'; use address, thread or nothing")
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "the sanitizer presets use g++; configure with CMAKE_CXX_COMPILER=g++")
  endif()
  add_compile_options(${_flags} -fno-omit-frame-pointer)
  add_link_options(${_flags})
  # g++ 12 sees uninitialised values in libstdc++ where its own instrumentation hides the initialisation.
  # The builds without a sanitizer hold our code to its warnings.
  target_compile_options(hotproof_warnings INTERFACE -Wno-maybe-uninitialized -Wno-error)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${_runtime}
    OUTPUT_VARIABLE HOTPROOF_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(HOTPROOF_SANITIZER_RUNTIME "${HOTPROOF_SANITIZER_RUNTIME}" REALPATH)
endif()
target_compile_definitions(hotproof_warnings INTERFACE
  HOTPROOF_SANITIZER_RUNTIME="${HOTPROOF_SANITIZER_RUNTIME}")
