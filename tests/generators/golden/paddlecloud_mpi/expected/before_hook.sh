#!/bin/sh
# Runs on each node before training.
set -eu
python -m pip uninstall -y paddlepaddle
python -m pip install 'paddlepaddle==1.7.2'
