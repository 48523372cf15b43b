#!/bin/sh
# Starts all ranks of the job. This folder has to be at the same path on every machine, or on a shared file system.
#   ./run.sh [options for mpirun]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
machines=$here/machines
if [ ! -r "$machines" ]; then
  echo "run.sh: no machines: write one host per line into $machines" >&2
  exit 78
fi
exec mpirun --hostfile "$machines" --map-by node -n 6 "$@" "$here/start.sh" "$machines"
