#!/bin/sh
# Sends this folder to the batch system, which runs run.sh on the nodes it chooses. FS_UGI is the user and password of
# the file system.
set -eu
cd "$(dirname "$0")"
: "${FS_UGI:?set it to user,password of the file system}"
exec /home/me/hpc/bin/qsub_f -N prdist-mpi --conf /home/me/qconf.conf --hdfs hdfs://host:54310 --ugi "$FS_UGI" \
  --hout /user/me//home/me/dnn/"$(date +%Y%m%d%H%M%S)" --files . \
  -l nodes=2,walltime=1000:00:00,resource=full run.sh
