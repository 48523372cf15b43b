#!/bin/sh
# Runs on each node after training.
set -eu
echo "training has ended"
