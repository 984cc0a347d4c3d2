# Shared by setup, test and demo (sourced): steps with progress, elapsed time and a log.
# Callers set log_file. Nothing here installs or builds.

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m'; plain=$'\e[0m'; else bold=; plain=; fi

say() { printf '%s\n' "$*" >&2; }
title() { printf '%s== %s%s\n' "$bold" "$*" "$plain" >&2; }
die() { printf '%s\n' "${0##*/}: $*" >&2; exit 1; }

# quietly WHAT COMMAND...: runs COMMAND with its output in the log; one line with the time it took, and
# on failure the log's end. Every 15 seconds a sign of life.
quietly() {
  local what=$1 started=$SECONDS status=0 heartbeat
  shift
  printf '   %s ... ' "$what" >&2
  (while sleep 15; do printf '%ss ... ' "$((SECONDS - started))" >&2; done) &
  heartbeat=$!
  "$@" >>"$log_file" 2>&1 </dev/null || status=$?
  kill "$heartbeat" 2>/dev/null
  wait "$heartbeat" 2>/dev/null
  if [ "$status" -eq 0 ]; then
    say "done ($((SECONDS - started)) s)"
  else
    say "failed (exit code $status); the end of $log_file:"
    tail -n 25 "$log_file" | sed 's/^/     /' >&2
  fi
  return "$status"
}
