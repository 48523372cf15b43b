#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prrun status, logs and cancel, of jobs that were submitted: on a kubectl of the test's, and in `cluster` on a real one,
from the submission on, when $KUBECONFIG names it.

    submitted_jobs.py BIN_DIR CASE
"""

import json
import os
import shutil
import subprocess

from submit_setup import DEADLINE, FORBIDDEN, KINDS, SKIPPED, WORK, backend, calls, check, ended, has, main, prrun, stand_in


def pod(name, index, phase, **more):
    status = {"phase": phase} | more
    return {"apiVersion": "v1", "kind": "Pod", "status": status,
            "metadata": {"name": name, "labels": {"app.kubernetes.io/component": "job", "batch.kubernetes.io/job-completion-index": str(index)}},
            "spec": {"nodeName": "node-a", "containers": [{"name": "job", "env": [{"name": "PADDLE_PSERVERS_NUM", "value": "1"}]}]}}


def job_answers():
    waiting = [{"restartCount": 3, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]
    items = [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "ctr"}, "status": {"active": 3}},
             pod("ctr-1-b", 1, "Pending", containerStatuses=waiting), pod("ctr-0-a", 0, "Running"), pod("ctr-2-c", 2, "Running")]
    return ["pods --selector", 0, json.dumps({"items": items}), ""]


def run_status():
    folder = stand_in(job_answers())
    ran = prrun("status", "ctr", "-n", "training", path=folder)
    ended(ran, 0)
    check(ran.stdout == "job.batch/ctr: Running, 3 active, age -\n"
          "ROLE     ID  POD      PHASE    RESTARTS  NODE    AGE  REASON\n"
          "pserver  0   ctr-0-a  Running  0         node-a  -\n"
          "trainer  0   ctr-1-b  Pending  3         node-a  -    ImagePullBackOff: no such image\n"
          "trainer  1   ctr-2-c  Running  0         node-a  -\n", ran.stdout)
    order = [" ".join(call["words"]) for call in calls(folder)]
    check(order == ["--namespace=training api-resources --namespaced=true --verbs=list --output=name",
                    "--namespace=training get jobs.batch,jobs.batch.volcano.sh,paddlejobs.batch.paddlepaddle.org,pods "
                    "--selector=app.kubernetes.io/instance=ctr,app.kubernetes.io/managed-by=prgen --output=json"], order)
    # A job without our labels is found by its name, its pods by their owner.
    owned = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old-x", "ownerReferences": [{"name": "old"}]}, "status": {"phase": "Running"}}
    folder = stand_in(["pods --selector", 0, '{"items": []}', ""],
                      ["old --ignore-not-found", 0, '{"items": [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "old"}}]}', ""],
                      ["get pods", 0, json.dumps({"items": [owned, pod("stranger", 0, "Running")]}), ""])
    ran = prrun("status", "old", path=folder)
    ended(ran, 0)
    has(ran.stdout, "job.batch/old: not looked at yet")
    check("old-x" in ran.stdout and "stranger" not in ran.stdout, ran.stdout)
    ran = prrun("status", "ctr", path=stand_in(["pods --selector", 0, '{"items": []}', ""], ["--ignore-not-found", 0, "", ""]))
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: there is no job 'ctr' in namespace default: prrun status lists those that are there; -n names "
                    "another namespace")
    folder = stand_in(["--selector=app.kubernetes.io/managed-by=prgen", 0, '{"items": []}', ""])
    ran = prrun("status", path=folder)
    ended(ran, 0)
    check(ran.stdout == "no jobs in namespace default\n", ran.stdout)
    ran = prrun("status", "ctr", path=stand_in(["pods --selector", 1, "", FORBIDDEN]))
    ended(ran, 78)
    has(ran.stderr, "Ask for that right (kubectl auth can-i --list shows yours)")
    ran = prrun("status", "ctr", path=stand_in(["pods --selector", 0, "nonsense", ""]))
    ended(ran, 78)
    has(ran.stderr, "k8s: what kubectl printed is no list of objects")


def run_logs():
    logs = ["logs", 0, "hello\n", ""]
    selected = "--selector=app.kubernetes.io/instance=ctr,app.kubernetes.io/managed-by=prgen"
    for words, called in [
            (["--role", "trainer", "--id", "0", "--follow"], ["logs", "--follow", "--tail=-1", "pod/ctr-1-b", "--all-containers"]),
            (["--id", "1", "--tail", "5", "--previous"], ["logs", "--previous", "--tail=5", "pod/ctr-2-c", "--all-containers"]),
            (["--role", "trainer"], ["logs", "--tail=-1", "--prefix", "--max-log-requests=100",
                                     selected + ",batch.kubernetes.io/job-completion-index in (1,2)", "--all-containers"]),
            ([], ["logs", "--tail=-1", "--prefix", "--max-log-requests=100", selected, "--all-containers"])]:
        folder = stand_in(logs, job_answers())
        ran = prrun("logs", "ctr", *words, path=folder)
        ended(ran, 0)
        check(ran.stdout == "hello\n" and calls(folder)[-1]["words"] == called, called, calls(folder)[-1])
    ran = prrun("logs", "ctr", "--role", "pserver", "--id", "4", path=stand_in(job_answers()))
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: job 'ctr' has no pserver 4: prrun status ctr shows its 3 pods")


def run_cancel():
    names = ["--output=name", 0, "service/ctr\njob.batch/ctr\nconfigmap/ctr-config\n", ""]
    kinds = ["--namespaced=true", 0, KINDS, ""]
    folder = stand_in(kinds, names)
    ran = prrun("cancel", "ctr", path=folder)
    ended(ran, 0)
    order = [" ".join(call["words"]) for call in calls(folder)]
    selected = "--selector=app.kubernetes.io/instance=ctr,app.kubernetes.io/managed-by=prgen"
    check(order[1:] == ["get jobs.batch,jobs.batch.volcano.sh,paddlejobs.batch.paddlepaddle.org,services,networkpolicies.networking.k8s.io,"
                        f"configmaps,serviceaccounts,rolebindings.rbac.authorization.k8s.io,roles.rbac.authorization.k8s.io {selected} --output=name",
                        "delete job.batch/ctr service/ctr configmap/ctr-config --ignore-not-found --timeout=180s",
                        f"wait --for=delete pods {selected} --timeout=180s"], order)
    has(ran.stdout, 'job.batch "ctr" deleted\njob ctr is gone: 3 objects were deleted, no pod of it runs\n')
    folder = stand_in(kinds, names)
    ran = prrun("cancel", "--dry-run", "ctr", path=folder)
    ended(ran, 0)
    has(ran.stdout, "would delete job.batch/ctr\nwould delete service/ctr\nwould delete configmap/ctr-config\n")
    check(not any("delete" in call["words"] for call in calls(folder)), "a dry run deleted")
    ended(prrun("cancel", "ctr", path=stand_in(kinds, names, ["wait", 1, "", "error: no matching resources found\n"])), 0)
    for answer, what in [(["wait", 1, "", "error: timed out waiting for the condition on pods/ctr-0\n"], "pods"),
                         (["delete", 1, "", "error: timed out waiting for the condition\n"], "objects")]:
        ran = prrun("cancel", "ctr", "--wait", "5", path=stand_in(kinds, names, answer))
        ended(ran, 75)
        has(ran.stderr, f"prdist[job.deadline] submit: {what} of job 'ctr' did not go within 5 s: prrun status ctr shows them; call cancel again, "
                        "or give --wait more")
    # Pods may take longer than what owned them: a second call waits for them alone.
    folder = stand_in(kinds, ["get pods", 0, "pod/ctr-0\n", ""], ["--output=name", 0, "", ""])
    ended(prrun("cancel", "ctr", path=folder), 0)
    check(not any("delete" in call["words"] for call in calls(folder)) and "wait" in calls(folder)[-1]["words"], calls(folder))
    ran = prrun("cancel", "ctr", path=stand_in(kinds, ["--output=name", 0, "", ""]))
    ended(ran, 78)
    has(ran.stderr, "there is no job 'ctr' in namespace default")


def run_cluster():
    """A real apiserver: everything up to the pods, in a namespace of the test's own."""
    if not os.environ.get("KUBECONFIG") or shutil.which("kubectl") is None:
        print("skipped: $KUBECONFIG names no cluster, or kubectl is not installed")
        return SKIPPED
    variables = {"KUBECONFIG": os.environ["KUBECONFIG"]}
    space = f"prrun-test-{os.getpid()}"

    def kubectl(*words, **more):
        return subprocess.run(["kubectl", "--request-timeout=30s", *words], check=True, text=True, capture_output=True, timeout=DEADLINE, **more).stdout

    def run(*words):
        return prrun(*words, "-n", space, **variables)

    minor = int("0" + "".join(c for c in json.loads(kubectl("version", "--output=json"))["serverVersion"]["minor"] if c.isdigit()))
    # The document's own Job is taken by every version.
    (WORK / "backend.yaml").write_text(f"""engine:
  backend: k8s
  job_name: ctr
  train_config_dir: conf
  submit: {{trainer_num: 2, docker_image: "hub.example.com/ctr:1.0"{", server_num: 1" if minor >= 24 else ""}}}
""", encoding="utf-8")
    profile = [] if minor >= 24 else ["--profile", "legacy", "--kube_version", "1.33"]
    submit = ["-b", "backend.yaml", *profile]
    ran = run(*submit)
    ended(ran, 78)
    has(ran.stderr, f"no   namespace there is no namespace '{space}'")
    kubectl("create", "namespace", space)
    try:
        ended(run("status", "ctr"), 78)
        ran = run(*submit)
        ended(ran, 0)
        has(ran.stdout, "  job.batch/ctr\n")
        has(ran.stderr, "yes  dry run   the cluster would take all of it\n")
        ran = run("status", "ctr")
        ended(ran, 0)
        has(ran.stdout, "job.batch/ctr: ")
        ran = run(*submit)
        ended(ran, 78)
        has(ran.stderr, "no   name      job 'ctr' or a part of it is there already (")
        before = kubectl("get", "job", "ctr", "-n", space, "--output=jsonpath={.metadata.uid}")
        ended(run(*submit, "--replace"), 0)
        check(before != kubectl("get", "job", "ctr", "-n", space, "--output=jsonpath={.metadata.uid}"), "it was not replaced")
        kubectl("create", "configmap", "ctr-of-others", "-n", space)
        ran = run("cancel", "ctr", "--dry-run")
        ended(ran, 0)
        has(ran.stdout, "would delete job.batch/ctr\n")
        ended(run("cancel", "ctr"), 0)
        has(kubectl("get", "configmap", "-n", space, "--output=name"), "ctr-of-others")
        check(kubectl("get", "jobs", "-n", space, "--output=name") == "", "the job is still there")
        ended(run("cancel", "ctr"), 78)
        if "jobs.batch.volcano.sh" not in kubectl("api-resources", "--output=name"):
            backend("volcano")
            ran = run("-b", "backend.yaml", "--kube_version", "1.33")
            ended(ran, 78)
            has(ran.stderr, "Volcano is not installed")
    finally:
        kubectl("delete", "namespace", space, "--wait=false")
    return 0


if __name__ == "__main__":
    main(globals())
