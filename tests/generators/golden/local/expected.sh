#!/bin/sh
# The whole job on this machine; prrun says where the logs are.
set -eu
export GLOG_v=0
export NOTE='two words'
exec prrun \
  --job_id try \
  --server_num 1 \
  --trainer_num 2 \
  --timeout 60 \
  -- ./train --note 'it'\''s $HOME'
