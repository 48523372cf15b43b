# SPDX-License-Identifier: Apache-2.0
"""A whole run of prgen beside a whole run of `kubectl kustomize` that prints the same manifest, turn by turn in one run.
Fails when prgen's median is more than a tenth of kubectl's; skipped, with the reason, without kubectl.

    prgen_vs_kustomize.py PRGEN BACKEND_YAML [RUNS]
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LIMIT = 0.1


def timed(command):
    begun = time.perf_counter()
    out = subprocess.run(command, check=True, capture_output=True).stdout
    return time.perf_counter() - begun, out


def main(prgen, backend, runs="15"):
    if shutil.which("kubectl") is None:
        print("skipped: kubectl is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        manifest = timed([prgen, "-q", backend])[1]
        (folder / "job.yaml").write_bytes(manifest)
        (folder / "kustomization.yaml").write_text("resources: [job.yaml]\n", encoding="utf-8")
        ours, theirs = [], []
        for _ in range(int(runs)):
            ours.append(timed([prgen, "-q", backend])[0])
            seconds, out = timed(["kubectl", "kustomize", folder])
            theirs.append(seconds)
        if out.count(b"\nkind: ") + out.startswith(b"kind: ") != manifest.count(b"\nkind: "):
            print("kubectl printed another number of objects")
            return 1
    quickest = min(ours), min(theirs)
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"prgen {ours * 1000:.1f} ms, kubectl kustomize {theirs * 1000:.1f} ms, ratio {ours / theirs:.3f}, limit {LIMIT}"
          f" (quickest {quickest[0] * 1000:.1f} and {quickest[1] * 1000:.1f} ms)")
    return 0 if ours <= LIMIT * theirs else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
