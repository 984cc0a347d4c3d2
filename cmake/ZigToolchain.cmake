# Builds for x86_64 Linux with glibc 2.28 or newer, whatever this machine has: PyPI's ziglang (pinned)
# is a clang with its own libc headers and libc++. Only for libhotproof.so (preset release).
include("${CMAKE_CURRENT_LIST_DIR}/Downloads.cmake")
set(_zig_version 0.17.1)
set(_zig_target x86_64-linux-gnu.2.28)
hotproof_wheels(ziglang WHEELS ziglang==${_zig_version} PATTERNS "ziglang/*")

# CMake wants compilers that are one program; and what Debian offers of headers and archives must not
# drag in Debian's libc, so exactly the needed files are linked into a root of their own.
set(_zig_root "${HOTPROOF_DOWNLOADS}/zig-tools")
if(NOT EXISTS "${_zig_root}/done")
  file(MAKE_DIRECTORY "${_zig_root}/bin" "${_zig_root}/usr/include" "${_zig_root}/usr/lib")
  foreach(_tool cc c++ ar ranlib)
    set(_arguments "${_tool}")
    if(_tool MATCHES "c")
      string(APPEND _arguments " -target ${_zig_target}")
    endif()
    file(WRITE "${_zig_root}/bin/zig-${_tool}"
      "#!/bin/sh\n"
      "export ZIG_GLOBAL_CACHE_DIR='${HOTPROOF_DOWNLOADS}/zig-cache'\n"
      "export ZIG_LOCAL_CACHE_DIR='${HOTPROOF_DOWNLOADS}/zig-cache'\n"
      "exec '${HOTPROOF_DOWNLOADS}/ziglang/ziglang/zig' ${_arguments} \"$@\"\n")
    file(CHMOD "${_zig_root}/bin/zig-${_tool}" PERMISSIONS
      OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
  file(CHMOD "${HOTPROOF_DOWNLOADS}/ziglang/ziglang/zig" PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  foreach(_header zstd.h zstd_errors.h zdict.h xxhash.h protozero)
    file(CREATE_LINK "/usr/include/${_header}" "${_zig_root}/usr/include/${_header}" SYMBOLIC)
  endforeach()
  file(CREATE_LINK "/usr/lib/x86_64-linux-gnu/libzstd.a" "${_zig_root}/usr/lib/libzstd.a" SYMBOLIC)
  file(TOUCH "${_zig_root}/done")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER "${_zig_root}/bin/zig-cc")
set(CMAKE_CXX_COMPILER "${_zig_root}/bin/zig-c++")
set(CMAKE_AR "${_zig_root}/bin/zig-ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${_zig_root}/bin/zig-ranlib" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "${_zig_root}/usr")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
