#!/bin/sh
# Submits the job. Call it from the folder that holds your files. PADDLECLOUD_AK and PADDLECLOUD_SK are the keys, and
# FS_UGI is the user and password of the file system.
set -eu
: "${PADDLECLOUD_AK:?set it to the access key}" "${PADDLECLOUD_SK:?set it to the secret key}"
here=$(cd "$(dirname "$0")" && pwd)
files='./*.py ./*.yaml'
# shellcheck disable=SC2086,SC2046 # patterns, parted by blanks or commas
for file in $(printf '%s' "$files" | tr ',' ' '); do
  if [ ! -e "$file" ]; then
    echo "job.sh: '$file' of submit.files is not here" >&2
    exit 78
  fi
  case $(cd "$(dirname "$file")" && pwd) in
    "$here") ;;
    *) cp -R "$file" "$here" ;;
  esac
done
cd "$here"
: "${FS_UGI:?set it to user,password of the file system}"
conf=config.ini
umask 077
rm -f "$conf" # an old one would keep its mode
{
  cat config.ini.in
  printf 'fs_ugi="%s"\n' "$FS_UGI"
} >"$conf"
# The password is for the client, not for the files that travel with the job.
set --
for file in ./*; do
  case $file in
    ./config.ini | ./config.ini.in) ;;
    *) set -- "$@" "$file" ;;
  esac
done
exec paddlecloud job --ak "$PADDLECLOUD_AK" --sk "$PADDLECLOUD_SK" train \
  --job-name PaddleRec_CTR \
  --group-name group \
  --job-version paddle-fluid-v1.7.1 \
  --job-conf "$conf" \
  --start-cmd 'python -m paddlerec.run -m ./config.yaml' \
  --files "$@" \
  --k8s-priority high \
  --wall-time 2000:00:00 \
  --k8s-trainers 2 \
  --k8s-cpu-cores 4 \
  --k8s-ps-num 2 \
  --k8s-ps-cores 4 \
  --is-standalone 0 --distribute-job-type PSERVER \
  --json
