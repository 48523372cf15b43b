# SPDX-License-Identifier: Apache-2.0
"""When $KUBECONFIG names a cluster, creates and deletes there what prgen renders for plain Kubernetes, in a namespace of
its own that enforces Pod Security "restricted", and asks the apiserver to validate strictly. Without one, says so.

    cluster.py PRGEN GOLDEN_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
CASES = ["k8s_paddlerec_doc", "k8s_paddlerec_doc_with_config", "k8s_every_key", "k8s_without_launcher", "k8s_collective", "k8s_single"]


def kubectl(*words, **more):
    return subprocess.run(["kubectl", "--request-timeout=30s", *words], check=True, text=True, **more)


def main(prgen, golden):
    if not os.environ.get("KUBECONFIG") or shutil.which("kubectl") is None:
        print("skipped: $KUBECONFIG names no cluster, or kubectl is not installed")
        return SKIPPED
    namespace = f"prgen-test-{os.getpid()}"
    kubectl("create", "namespace", namespace)
    try:
        kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        for case in CASES:
            folder = pathlib.Path(golden) / case
            flags = (folder / "flags").read_text(encoding="utf-8").split("\n")[:-1] if (folder / "flags").exists() else []
            text = subprocess.run([prgen, "backend.yaml", *flags, "-n", namespace], cwd=folder, check=True,
                                  capture_output=True, text=True).stdout
            made = kubectl("create", "--validate=strict", "-f", "-", input=text, capture_output=True)
            print(made.stdout)
            if "Warning" in made.stderr:
                print(f"{case}: the apiserver warns: {made.stderr}")
                return 1
            kubectl("delete", "--wait=false", "-f", "-", input=text, capture_output=True)
    except subprocess.CalledProcessError as error:
        print(error, error.stdout, error.stderr)
        return 1
    finally:
        kubectl("delete", "namespace", namespace, "--wait=false")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
