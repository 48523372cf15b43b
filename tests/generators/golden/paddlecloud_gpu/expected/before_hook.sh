#!/bin/sh
# Runs on each node before training.
set -eu
python -m pip uninstall -y paddlepaddle-gpu
python -m pip install 'paddlepaddle-gpu==1.7.2'
