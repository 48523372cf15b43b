#!/bin/sh
# Starts all ranks of the job. This folder has to be at the same path on every machine, or on a shared file system.
#   ./run.sh [options for mpirun]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -r "$here/machines" ]; then
  if [ -z "${PBS_NODEFILE:-}" ]; then
    echo "run.sh: no machines: write one host per line into $here/machines" >&2
    exit 78
  fi
  cp "$PBS_NODEFILE" "$here/machines"
fi
exec mpirun --hostfile "$here/machines" --map-by node -n 6 "$@" "$here/start.sh"
