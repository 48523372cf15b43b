#!/usr/bin/env bash
# The demo: plants click data whose best possible AUC is known, trains it in one process, then as 2 servers and 2
# workers under the launcher, and shows both beside each other.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./dev demo [--strategy NAME] [--servers N] [--workers N] [--rows N] [--out DIR]

  --strategy   when gradients are applied: async (the default), sync, half_async, geo or ssp; all: one after another
  --servers    parameter servers, default 2
  --workers    trainers, default 2
  --rows       training rows, default 400000
  --out        where data, logs and the model go, default build/demo
TEXT
}

strategy=async servers=2 workers=2 rows=400000 out=build/demo
while [ $# -gt 0 ]; do
  case $1 in
    --strategy | --servers | --workers | --rows | --out)
      [ $# -ge 2 ] || { echo "demo: $1 needs a value" >&2; exit 64; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --strategy=* | --servers=* | --workers=* | --rows=* | --out=*)
      option=${1%%=*}
      declare "${option#--}=${1#*=}"
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) echo "demo: unknown option $1" >&2; usage >&2; exit 64 ;;
  esac
done
case $strategy in
  async | sync | half_async | geo | ssp) strategies=("$strategy") ;;
  all) strategies=(sync half_async geo ssp async) ;;
  *) echo "demo: --strategy is async, sync, half_async, geo, ssp or all, not '$strategy'" >&2; exit 64 ;;
esac
for name in servers workers rows; do
  [[ ${!name} =~ ^[1-9][0-9]{0,8}$ ]] || { echo "demo: --$name is a number from 1, not '${!name}'" >&2; exit 64; }
done

bin=$(cd "$(dirname "$0")/../build/bin" && pwd)
mkdir -p "$out"
# Data is made once for a number of rows and files; a half-written folder has no meta.json.
files=$((workers > 8 ? workers : 8))
data=$out/data-$rows-$files
if [ ! -f "$data/meta.json" ]; then
  echo "demo: planting $rows rows of click data in $data"
  "$bin/prdata" --out "$data" --rows "$rows" --test-rows 50000 --files "$files" >"$out/prdata.log" 2>&1 ||
    { cat "$out/prdata.log" >&2; exit 1; }
fi

# N workers have N batches under way, whether their steps wait for each other or not: with a batch of 1/N as many
# examples lie between two looks at a weight as in one process.
batch=512
part=$(((batch + workers - 1) / workers))
common=(--train "$data/train" --test "$data/test" --rows "$rows" --seed 1)
export OPENBLAS_NUM_THREADS=1

echo "demo: logistic regression in one process"
"$bin/ctr_dnn" --single --model lr "${common[@]}" --batch_size $batch --result "$out/lr.json" >"$out/lr.log" 2>&1 ||
  { tail -n 5 "$out/lr.log" >&2; exit 1; }
echo "demo: CTR-DNN in one process, on the same rows"
"$bin/ctr_dnn" --single "${common[@]}" --batch_size $batch --result "$out/single.json" >"$out/single.log" 2>&1 ||
  { tail -n 5 "$out/single.log" >&2; exit 1; }
rm -f "$out/model.npz"
results=()
for strategy in "${strategies[@]}"; do
  echo "demo: CTR-DNN on $servers servers and $workers workers, $strategy"
  "$bin/prrun" --server_num "$servers" --trainer_num "$workers" --log_dir "$out/log" -- "$bin/ctr_dnn" "${common[@]}" \
    --strategy "$strategy" --batch_size $part --result "$out/$strategy.json" --export "$out/model.npz"
  results+=("$out/$strategy.json")
done

"$bin/ctr_dnn" --compare "$data/meta.json" "$out/lr.json" "$out/single.json" "${results[@]}"
printf '\nlogs   %s/log\nmodel  %s/model.npz  (numpy.load reads it)\n' "$out" "$out"
