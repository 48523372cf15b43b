#!/bin/sh
# Starts all ranks of the job. This folder has to be at the same path on every machine, or on a shared file system.
#   ./run.sh [options for mpirun]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
machines=$here/machines
# The batch system chooses anew for each run, so what it says wins over a file that was written by hand.
if [ -n "${PBS_NODEFILE:-}" ]; then
  machines=$here/machines.pbs
  cp "$PBS_NODEFILE" "$machines"
fi
if [ ! -r "$machines" ]; then
  echo "run.sh: no machines: write one host per line into $machines" >&2
  exit 78
fi
exec mpirun --hostfile "$machines" --map-by node -n 4 "$@" "$here/start.sh" "$machines"
