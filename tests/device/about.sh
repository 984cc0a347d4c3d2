#!/bin/bash
# about.sh BIN COMMAND...: what a raw output begins with, so that it can be read by itself: the command, hotproof's
# version and commit, the machine. The commit is the line in BIN/commit, written by who packs the programs
# (`git describe --always --dirty --tags >BIN/commit`), or else the source's, if this is a checkout.
bin=$1
shift
here=$(cd "$(dirname "$(realpath "$0")")" && pwd)
echo "# $*"
version=$("$bin/hotproof" --version 2>/dev/null || echo 'hotproof (no program)')
commit=$(cat "$bin/commit" 2>/dev/null || git -C "$here" describe --always --dirty --tags 2>/dev/null || echo unknown)
echo "# ${version##* } of commit $commit, $(date -u '+%Y-%m-%d %H:%M UTC')"
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.used --format=csv,noheader |
    sed 's/^/# GPU, driver, clocks now (SM, memory), most of SM, memory in use: /'
else
  echo '# no GPU (no nvidia-smi)'
fi
[ -n "${HOTPROOF_CUPTI:-}" ] && echo "# CUPTI $(python3 -c 'import ctypes,sys
v=ctypes.c_uint32(); ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(v)); print(v.value)' "$HOTPROOF_CUPTI" 2>/dev/null || echo '?') ($HOTPROOF_CUPTI)"
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), Linux $(uname -r)"
exit 0
