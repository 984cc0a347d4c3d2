# Our own code is built with warnings as errors; generated code opts out per target.
add_library(hotproof_warnings INTERFACE)
target_compile_options(hotproof_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wno-missing-field-initializers>)
# Every target of ours includes headers as "room/file.h".
target_include_directories(hotproof_warnings INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(hotproof_warnings INTERFACE HOTPROOF_VERSION="${PROJECT_VERSION}")
