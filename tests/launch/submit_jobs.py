#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that prrun submits. Local jobs and mpirun are the real ones, in place of a cluster stands a kubectl of the test's.
What is not installed is named, and the test is skipped then.

    submit_jobs.py BIN_DIR CASE
"""

import json
import pathlib
import shutil

from submit_setup import (BACKEND, EVERYTHING, FORBIDDEN, NOT_FOUND, QUEUES, REFUSED, SKIPPED, VERSION, WORK, backend,
                          calls, check, ended, has, main, prrun, stand_in)


def run_k8s():
    backend("k8s")
    (WORK / "config.yaml").write_text("runner:\n- name: train\n  class: cluster_train\n", encoding="utf-8")
    folder = stand_in()
    ran = prrun("-m", "config.yaml", "-b", "backend.yaml", "-n", "training", path=folder)
    ended(ran, 0)
    made = calls(folder)
    order = [" ".join(call["words"]) for call in made]
    check(order[0] == "--namespace=training version --output=json", order)
    check(order[-1] == "--namespace=training create --filename=- --output=name", order)
    check(order[-2] == "--namespace=training create --dry-run=server --filename=- --output=name", order)
    check("--namespace=training get namespace training --output=name" in order, order)
    check("--namespace=training auth can-i create jobs.batch" in order, order)
    check(not any("api-group" in line for line in order), "plain Kubernetes needs no operator", order)
    manifest = made[-1]["input"]
    has(manifest, "kind: Job\n")
    has(manifest, "cluster_train")
    check(manifest == made[-2]["input"], "what is tried is what is created")
    check(not any("cluster_train" in line for line in order), "the manifest stands in a process list", order)
    has(ran.stderr, "yes  cluster   Kubernetes v1.33.1\n")
    has(ran.stderr, "yes  namespace training\n")
    has(ran.stdout, "job ctr is created:\n  serviceaccount/ctr\n  job.batch/ctr\nnext:\n  prrun status ctr -n training\n"
                    "  prrun logs ctr -n training --role trainer --id 0 --follow\n  prrun cancel ctr -n training\n")


def run_volcano():
    backend("volcano", EVERYTHING)
    folder = stand_in()
    ended(prrun("-b", "backend.yaml", path=folder), 0)
    order = [" ".join(call["words"]) for call in calls(folder)]
    for wanted in ["api-resources --api-group=batch.volcano.sh --output=name", "get queues.scheduling.volcano.sh --output=json",
                   "get secret hub --output=name", "get serviceaccount trainer --output=name",
                   "get priorityclass batch --output=name", "get persistentvolumeclaim clicks --output=name",
                   "get configmap words --output=name", "auth can-i create jobs.batch.volcano.sh"]:
        check(wanted in order, wanted, order)
    check(any(line.startswith("get secret fs --output=go-template=") for line in order), order)
    check(not any("-o json" in line or "--output=json" in line for line in order if "secret" in line),
          "a secret's values were asked for", order)
    backend("paddlejob")
    folder = stand_in()
    ended(prrun("-b", "backend.yaml", path=folder), 0)
    check("api-resources --api-group=batch.paddlepaddle.org --output=name" in [" ".join(c["words"]) for c in calls(folder)])


def run_version_of_the_cluster():
    """The manifest is what the cluster's version takes."""
    backend("k8s")
    for minor, jobs in [("33", 1), ("29", 2), ("", 1)]:
        answer = VERSION.replace("33+", minor)
        folder = stand_in(["version", 0, answer, ""])
        ended(prrun("-b", "backend.yaml", path=folder), 0)
        check(calls(folder)[-1]["input"].count("kind: Job\n") == jobs, minor)
    folder = stand_in(["version", 0, VERSION.replace("33+", "20"), ""])
    ran = prrun("-b", "backend.yaml", path=folder)
    ended(ran, 78)
    has(ran.stderr, "1.20")
    folder = stand_in(["version", 0, VERSION.replace("33+", "x"), ""])
    ran = prrun("-b", "backend.yaml", path=folder)
    ended(ran, 78)
    has(ran.stderr, "submit: the cluster's version 'v1.33.1' is not understood: give it with --kube_version 1.N")
    ended(prrun("-b", "backend.yaml", "--kube_version", "1.30", path=folder), 0)


def run_what_is_missing():
    everything = BACKEND.replace("BACKEND", "volcano") + EVERYTHING
    table = [
        (["get namespace", 1, "", NOT_FOUND],
         "no   namespace there is no namespace 'training': make it (kubectl create namespace training), or name another with -n"),
        (["--api-group", 0, "", ""],
         "no   api       the cluster does not know jobs.batch.volcano.sh, Volcano is not installed: have its release's "
         "volcano-development.yaml applied, or its Helm chart, or run the same file on plain Kubernetes with --backend k8s"),
        (["queues", 0, QUEUES.replace("research", "other"), ""],
         "no   queue     there is no queue 'research': take one of default, other, closed with --set submit.queue=NAME"),
        (["queues", 0, '{"items": []}', ""],
         "no   queue     there is no queue 'research': have it made, or name another with --set submit.queue=NAME"),
        (["queues", 0, QUEUES.replace("research", "old").replace("closed", "research"), ""],
         "no   queue     queue 'research' is Closed, and starts nothing: have it opened (vcctl queue operate -n research -a "
         "open), or take another with --set submit.queue=NAME"),
        (["get secret hub", 1, "", NOT_FOUND], "no   object    there is no secret 'hub' in namespace training: make it (kubectl "
         "create secret generic hub --from-file=KEY=FILE, or docker-registry for images), or correct submit.secrets"),
        (["get secret fs", 0, "user\nother\n", ""],
         "no   object    secret 'fs' has no key 'password', it has user, other: add it, or correct the key in submit.secrets"),
        (["get persistentvolumeclaim", 1, "", NOT_FOUND], "there is no persistentvolumeclaim 'clicks' in namespace training: make "
         "it (kubectl apply of a PersistentVolumeClaim), or correct submit.volumes"),
        (["get configmap", 1, "", NOT_FOUND], "there is no configmap 'words' in namespace training: make it (kubectl create "
         "configmap words --from-file=FILE), or correct submit.volumes"),
        (["get serviceaccount", 1, "", NOT_FOUND], "there is no serviceaccount 'trainer' in namespace training: make it (kubectl "
         "create serviceaccount trainer), or leave submit.service_account out for one of the job's own"),
        (["get priorityclass", 1, "", NOT_FOUND], "there is no priorityclass 'batch': kubectl get priorityclass lists them: correct "
         "submit.priority_class, or leave it out"),
        (["can-i create jobs.batch.volcano.sh", 1, "no\n", ""], "no   right     you may not create jobs.batch.volcano.sh in namespace "
         "training: ask for a Role with the verb create on it, or use another namespace with -n"),
        (["get --filename=-", 0, "job.batch.volcano.sh/ctr\nservice/ctr\n", ""],
         "no   name      job 'ctr' or a part of it is there already (job.batch.volcano.sh/ctr, service/ctr): end it with prrun "
         "cancel ctr, take another name with --set job_name=NAME, or give --replace"),
        (["--dry-run=server", 1, "", 'Warning: x\nError from server (Forbidden): pods "ctr" is forbidden: exceeded quota\n'],
         "no   dry run   submit: the cluster would refuse it: Error from server (Forbidden): pods \"ctr\" is forbidden: exceeded "
         "quota. Ask for that right"),
    ]
    for answer, text in table:
        (WORK / "backend.yaml").write_text(everything, encoding="utf-8")
        folder = stand_in(answer)
        ran = prrun("-b", "backend.yaml", "-n", "training", path=folder)
        ended(ran, 78)
        has(ran.stderr, text)
        has(ran.stderr, "prdist[config.missing] submit: nothing was created, one thing stands in the way of job 'ctr': see the "
                        "lines with no\n")
        check(not any("create" in c["words"] and "--dry-run=server" not in c["words"] and "can-i" not in c["words"]
                      for c in calls(folder)), "something was created", text)
        check(ran.stdout == "", ran.stdout)
    # What may not be looked at does not stand in the way; the cluster has the last word.
    folder = stand_in(["get secret", 1, "", FORBIDDEN], ["get namespace", 1, "", FORBIDDEN])
    ran = prrun("-b", "backend.yaml", "-n", "training", path=folder)
    ended(ran, 0)
    has(ran.stderr, "?    object    you may not look at secret/hub\n")
    backend("paddlejob")
    ran = prrun("-b", "backend.yaml", path=stand_in(["--api-group", 0, "", ""]))
    ended(ran, 78)
    has(ran.stderr, "paddle-operator is not installed: have its crd.yaml and operator.yaml applied")
    backend("paddlejob", "    paddlejob_api: kubeflow.org\n")
    ran = prrun("-b", "backend.yaml", path=stand_in(["--api-group", 0, "", ""]))
    ended(ran, 78)
    has(ran.stderr, "Kubeflow's training operator is not installed")


def run_no_cluster():
    backend("k8s")
    for errors, code, text in [
            (REFUSED, 75, "prdist[transport.refused] submit: kubectl version: The connection to the server 10.0.0.1:6443 was refused "
             "- did you specify the right host or port?. The cluster does not answer: try again, or look at kubectl cluster-info"),
            ("Unable to connect to the server: dial tcp: lookup x: no such host\n", 75, "The cluster does not answer"),
            (REFUSED.replace("10.0.0.1:6443", "localhost:8080"), 78, "kubectl has no configuration: set KUBECONFIG, or give --kubeconfig"),
            ("error: You must be logged in to the server (Unauthorized)\n", 78, "Log in again"),
            ('error: context "far" does not exist\n', 78, "kubectl config get-contexts lists what --context may name"),
            ("Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority\n", 78,
             "The cluster's certificate is not trusted: correct certificate-authority in kubectl's configuration")]:
        ran = prrun("-b", "backend.yaml", path=stand_in(["version", 1, '{"clientVersion": {}}', errors]))
        ended(ran, code)
        has(ran.stderr, text)
    ran = prrun("-b", "backend.yaml", path=stand_in(["can-i", 1, "", REFUSED]))
    ended(ran, 75)  # it went away in the middle
    ran = prrun("-b", "backend.yaml", path="")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: there is no kubectl in PATH: install it (Debian: kubernetes-client), or render by "
                    "prgen and create the objects where it is")
    # A kubectl that hangs, as one whose login helper waits for a person.
    folder = stand_in()
    (folder / "kubectl").write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
    ran = prrun("-b", "backend.yaml", "--request_timeout", "1", path=folder)
    ended(ran, 75)
    has(ran.stderr, "prdist[transport.no_answer] submit: 'kubectl version --output=json' did not end within 8 s: see whether the cluster "
                    "answers, or give it longer with --request_timeout")


def run_real_kubectl():
    """The real client against a port that nobody listens on, and without a configuration."""
    if shutil.which("kubectl") is None:
        print("skipped: kubectl is not installed")
        return SKIPPED
    import socket
    backend("k8s")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {"token": "t0psecret"}}],
                  "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{held.getsockname()[1]}"}}],
                  "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "mine"}}]}
        (WORK / "kubeconfig").write_text(json.dumps(config), encoding="utf-8")
        kubectl = str(pathlib.Path(shutil.which("kubectl")).parent)
        for words in [("-b", "backend.yaml"), ("status", "ctr"), ("logs", "ctr"), ("cancel", "ctr")]:
            ran = prrun(*words, "--kubeconfig", "kubeconfig", path=kubectl, HOME=str(WORK))
            ended(ran, 75)
            has(ran.stderr, "did you specify the right host or port?. The cluster does not answer")
            check("t0psecret" not in ran.stdout + ran.stderr, ran.stderr)
        ran = prrun("-b", "backend.yaml", "--kubeconfig", "kubeconfig", "--context", "far", path=kubectl, HOME=str(WORK))
        ended(ran, 78)
        has(ran.stderr, "kubectl config get-contexts lists what --context may name")
    ran = prrun("-b", "backend.yaml", path=kubectl, HOME=str(WORK))
    ended(ran, 78)
    has(ran.stderr, "kubectl has no configuration: set KUBECONFIG, or give --kubeconfig")
    return 0


def run_existing():
    backend("k8s")
    there = ["get --filename=-", 0, "job.batch/ctr\n", ""]
    folder = stand_in(there)
    ran = prrun("-b", "backend.yaml", "--replace", path=folder)
    ended(ran, 0)
    order = [" ".join(call["words"]) for call in calls(folder)]
    check(order[-2:] == ["delete --filename=- --ignore-not-found --timeout=180s", "create --filename=- --output=name"], order)
    check(calls(folder)[-2]["input"] == calls(folder)[-1]["input"])
    has(ran.stdout, 'job.batch "ctr" deleted\njob ctr is created:')
    # Half a job: what this call made is taken back, and nothing else.
    folder = stand_in(["can-i", 0, "yes\n", ""], ["--dry-run=server", 0, "", ""],
                      ["create", 1, "serviceaccount/ctr\nservice/ctr\n", 'Error from server (AlreadyExists): jobs.batch "ctr" already exists\n'])
    ran = prrun("-b", "backend.yaml", path=folder)
    ended(ran, 78)
    has(ran.stderr, "prdist[config.contradiction] submit: creating job 'ctr': Error from server (AlreadyExists): jobs.batch \"ctr\" already "
                    "exists. Take another name, or remove what is there; what had been created was deleted again (serviceaccount/ctr, "
                    "service/ctr)")
    check(calls(folder)[-1]["words"] == ["delete", "--ignore-not-found", "--wait=false", "serviceaccount/ctr", "service/ctr"], calls(folder)[-1])


def run_interrupted():
    """Ctrl-C while kubectl creates: what it then has made is taken back."""
    backend("k8s")
    for name, code in [("INT", 130), ("TERM", 143)]:
        folder = stand_in()
        (folder / "kubectl").rename(folder / "stand_in")
        (folder / "kubectl").write_text(
            "#!/bin/sh\ncase \"$*\" in *'create --filename'*) kill -" + name + " $PPID;; esac\nexec \"${0%/*}/stand_in\" \"$@\"\n",
            encoding="utf-8")
        (folder / "kubectl").chmod(0o755)
        ran = prrun("-b", "backend.yaml", path=folder)
        ended(ran, code)
        has(ran.stderr, f"submit: stopped by SIG{name} while job 'ctr' was created; what had been created was deleted again "
                        "(serviceaccount/ctr, job.batch/ctr)\n")
        check(ran.stdout == "", ran.stdout)
        check(calls(folder)[-1]["words"] == ["delete", "--ignore-not-found", "--wait=false", "serviceaccount/ctr", "job.batch/ctr"],
              calls(folder)[-1])


def run_plan():
    """No program is needed, and none is called."""
    backend("volcano", EVERYTHING)
    ran = prrun("-b", "backend.yaml", "-n", "training", "--dry-run", "--replace", path="")
    ended(ran, 0)
    has(ran.stdout, "job ctr for volcano, namespace training\n  Job ctr (batch.volcano.sh/v1alpha1)\n")
    lines = ran.stdout.splitlines()
    at = lines.index("commands, in order:")
    check(lines[at + 1] == "  kubectl version --output=json -n training", lines)
    check(lines[at + 2] == "  kubectl get namespace training --output=name -n training", lines)
    has(ran.stdout, "  kubectl auth can-i create jobs.batch.volcano.sh -n training\n")
    has(ran.stdout, "  kubectl delete --filename=- --ignore-not-found --timeout=180s -n training    < manifest, ")
    has(ran.stdout, "  kubectl create --filename=- --output=name -n training    < manifest, ")
    backend("mpi", "    hosts: [10.0.0.9, 10.0.0.10]\n")
    ran = prrun("-b", "backend.yaml", "--dry_run", path="")
    ended(ran, 0)
    has(ran.stdout, "job ctr for mpi, 2 servers and 2 trainers\nfiles in prrun_jobs/ctr:\n  machines, ")
    has(ran.stdout, "commands, in order:\n  prrun_jobs/ctr/run.sh\n    which runs mpirun with 4 ranks of prrun_jobs/ctr/start.sh\n")
    for name in ["mpi", "ssh"]:  # in the file or over it
        backend(name, "    hosts: [10.0.0.9, 10.0.0.10]\n    port: 7000\n    env: {LEVEL: high}\n")
        ran = prrun("-b", "backend.yaml", "--dry_run", *([] if name == "ssh" else ["--backend", "ssh"]), path="")
        ended(ran, 0)
        has(ran.stdout, "job ctr for ssh, 2 servers and 2 trainers\nfiles in prrun_jobs/ctr:\n  machines, ")
        has(ran.stdout, "  LEVEL=high\ncommands, in order:\n  prrun --job_id ctr --server_num 2 --trainer_num 2 --hostfile prrun_jobs/ctr/machines "
                        "--job_dispatch_package . --port 7000 -- ./train --epochs 3\n")
    check(not (WORK / "prrun_jobs").exists(), "a plan writes nothing")
    backend("local", "    env: {LEVEL: high}\n")
    ran = prrun("-b", "backend.yaml", "--dry-run", path="")
    ended(ran, 0)
    has(ran.stdout, "  LEVEL=high\ncommands, in order:\n  prrun --job_id ctr --server_num 2 --trainer_num 2 -- ./train --epochs 3\n")


def run_secrets():
    """A secret in the file is an error that does not repeat it, whatever is asked for."""
    for name in ["k8s", "local", "mpi"]:
        backend(name, "    env: {DB_PASSWORD: hunter2hunter2}\n    hosts: [a]\n" if name == "mpi" else "    env: {DB_PASSWORD: hunter2hunter2}\n")
        for more in [[], ["--dry-run"]]:
            folder = stand_in()
            ran = prrun("-b", "backend.yaml", *more, path=folder)
            check("hunter2" not in ran.stdout + ran.stderr, name, ran.stdout, ran.stderr)
            check(not any("hunter2" in " ".join(call["words"]) for call in calls(folder)), name)
    backend("k8s")
    ran = prrun("-b", "backend.yaml", path=stand_in(["version", 1, "", "error: token t0psecret of https://u:pa55word@host is wrong\n"]),
                MY_TOKEN="t0psecret")
    ended(ran, 78)
    check("t0psecret" not in ran.stderr and "pa55word" not in ran.stderr, ran.stderr)


def run_local():
    (WORK / "config.yaml").write_text("runner:\n- name: train\n  class: local_cluster_train\nphase:\n- {name: p, thread_num: 3}\n", encoding="utf-8")
    script = 'echo $TRAINING_ROLE $PADDLE_TRAINERS_NUM $LEVEL $CPU_NUM $PRDIST_CONFIG "$0"; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000'
    (WORK / "backend.yaml").write_text(BACKEND.replace("BACKEND", "local").replace(
        '[./train, --epochs, "3"]', json.dumps(["sh", "-c", script, "$(LEVEL) $$(LEVEL) $(NONE)"])) + "    env: {LEVEL: high}\n", encoding="utf-8")
    ran = prrun("-m", "config.yaml", "-b", "backend.yaml", "--log_dir", "logs", "--json", "report.json")
    ended(ran, 0)
    check((WORK / "logs/workerlog.1").read_text(encoding="utf-8") == "TRAINER 2 high 3 config.yaml high $(LEVEL) $(NONE)\n",
          (WORK / "logs/workerlog.1").read_text(encoding="utf-8"))
    check((WORK / "logs/serverlog.1").exists() and json.loads((WORK / "report.json").read_text(encoding="utf-8"))["exit_code"] == 0)
    # Any file may be run here, and its failure is its own.
    backend("k8s")
    ended(prrun("-b", "backend.yaml", "--backend", "local", "-q", "--", "sh", "-c", "exit 7"), 7)
    # A stopped launcher ends the job as without -b.
    ran = prrun("-b", "backend.yaml", "--backend", "local", "--set", "submit.time_limit=1", "-q", "--", "sleep", "1000")
    ended(ran, 124)
    ran = prrun("-b", "backend.yaml", "--backend", "local", path="")
    ended(ran, 78)
    has(ran.stderr, "there is no program './train'")


def run_mpirun():
    if shutil.which("mpirun") is None:
        print("skipped: mpirun is not installed (Debian: openmpi-bin)")
        return SKIPPED
    script = "echo $TRAINING_ROLE $PADDLE_PSERVERS_IP_PORT_LIST; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000"
    text = BACKEND.replace("BACKEND", "mpi").replace('[./train, --epochs, "3"]', json.dumps(["sh", "-c", script])).replace("server_num: 2", "server_num: 1")
    (WORK / "backend.yaml").write_text(text + "    hosts: [localhost]\n    port: 7164\n", encoding="utf-8")
    for _ in range(2):  # a folder of ours is written again
        ran = prrun("-b", "backend.yaml")
        ended(ran, 0)
        logs = [(WORK / "prrun_jobs/ctr/log" / name).read_text(encoding="utf-8") for name in ["node_0/server.log", "node_1/train.log"]]
        check(logs == ["PSERVER localhost:7164\n", "TRAINER localhost:7164\n"], logs, ran.stderr)
    ended(prrun("-b", "backend.yaml", "--job_dir", "other", "--", "sh", "-c", "exit 9"), 9)
    # Somebody's own file is left alone.
    (WORK / "mine").mkdir()
    (WORK / "mine/run.sh").write_text("precious", encoding="utf-8")
    ran = prrun("-b", "backend.yaml", "--job_dir", "mine")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.contradiction] submit: 'mine/run.sh' is there already and prrun did not write it: give another folder "
                    "with --job_dir, or --replace")
    check((WORK / "mine/run.sh").read_text(encoding="utf-8") == "precious")
    ran = prrun("-b", "backend.yaml", path="")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: there is no mpirun in PATH: install it (Debian: openmpi-bin), or run the job on this "
                    "machine with --backend local")
    # The seeds' way: a file of machines beside the configuration.
    (WORK / "backend.yaml").write_text(text, encoding="utf-8")
    ran = prrun("-b", "backend.yaml", "--job_dir", "third")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: no machines: write hosts: [...] below submit, or a file 'machines' here with one host per line")
    (WORK / "machines").write_text("localhost slots=4\n", encoding="utf-8")
    ended(prrun("-b", "backend.yaml", "--job_dir", "third", "-q"), 0)
    return 0


def run_paddlecloud():
    (WORK / "backend.yaml").write_text("""engine:
  backend: paddlecloud
  job_name: ctr
  fs: {name: "afs://host:9902", train_data: /user/me/train, output: /user/me/output}
  submit: {cluster_type: mpi, nodes: 2, files: "./*.yaml"}
""", encoding="utf-8")
    (WORK / "config.yaml").write_text("runner:\n- name: train\n", encoding="utf-8")
    words = ["-m", "config.yaml", "-b", "backend.yaml"]
    ran = prrun(*words, path="")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: there is no paddlecloud in PATH, the client of PaddleCloud. The files are in prrun_jobs/ctr: "
                    "install it, or take them where it is; then set PADDLECLOUD_AK, PADDLECLOUD_SK and FS_UGI and run prrun_jobs/ctr/job.sh")
    check((WORK / "prrun_jobs/ctr/job.sh").exists())
    folder = stand_in()
    (folder / "paddlecloud").write_text('#!/bin/sh\nfor word; do echo "$word"; done\n', encoding="utf-8")
    (folder / "paddlecloud").chmod(0o755)
    ran = prrun(*words, path=folder)
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: PADDLECLOUD_AK is not set: PaddleCloud's client needs it; set it in the environment, never in a file")
    ran = prrun(*words, path=folder, PADDLECLOUD_AK="a", PADDLECLOUD_SK="s", FS_UGI="u,p")
    ended(ran, 0)
    has(ran.stdout, "job\n--ak\na\n--sk\ns\ntrain\n--job-name\nctr\n")
    check("u,p" not in ran.stdout + ran.stderr)


def run_models():
    backend("k8s")
    (WORK / "models/rank/dnn").mkdir(parents=True)
    (WORK / "models/rank/dnn/config.yaml").write_text("note: from the checkout\n", encoding="utf-8")
    (WORK / "site/paddlerec/models/rank/fm").mkdir(parents=True)
    (WORK / "site/paddlerec/__init__.py").write_text("raise SystemExit('it was imported')\n", encoding="utf-8")
    (WORK / "site/paddlerec/models/rank/fm/config.yaml").write_text("note: of the package\n", encoding="utf-8")
    for model, text in [("paddlerec.models.rank.dnn", "from the checkout"), ("models/rank/dnn", "from the checkout"),
                        ("paddlerec.models.rank.fm", "of the package")]:
        folder = stand_in()
        ended(prrun("-m", model, "-b", "backend.yaml", path=folder, PYTHONPATH=str(WORK / "site")), 0)
        has(calls(folder)[-1]["input"], text)
    ran = prrun("-m", "paddlerec.models.rank.none", "-b", "backend.yaml", PYTHONPATH=str(WORK / "site"))
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: the package 'paddlerec.models.rank.none' has no config.yaml here "
                    f"(paddlerec/models/rank/none/config.yaml) nor in {WORK}/site: pip install it, go to its folder, or give the path of a "
                    "config.yaml with -m")
    ran = prrun("-m", "none.yaml", "-b", "backend.yaml")
    ended(ran, 78)
    has(ran.stderr, "prdist[config.missing] submit: there is no file 'none.yaml': -m takes a config.yaml, a folder with one, or a package such "
                    "as paddlerec.models.rank.dnn")


def run_words():
    """Which command lines are submissions, and what is wrong with some."""
    backend("local", "")
    for words in [["-b", "backend.yaml"], ["--dry-run", "-b", "backend.yaml"], ["submit", "-b", "backend.yaml"],
                  ["--log_dir", "x", "-q", "-b", "backend.yaml"], ["--backend_file=backend.yaml"]]:
        ran = prrun(*words, "--dry-run")
        ended(ran, 0)
        has(ran.stdout, "job ctr for local")
    # A program's own -m and -b are its own.
    ended(prrun("-q", "sh", "-c", "[ $1 = -m ]", "sh", "-m"), 0)
    ended(prrun("--server_num", "1", "--", "sh", "-c", "[ $1 = -b ]", "sh", "-b"), 0)
    for words, text in [(["-m", "config.yaml"], "-b backend.yaml is required"),
                        (["-b", "backend.yaml", "more"], "'more' is not wanted here: the program stands behind --"),
                        (["-b", "backend.yaml", "--"], "nothing stands behind --"),
                        (["-b", "backend.yaml", "--set", "x"], "--set: 'x' is not path=value"),
                        (["-b", "-", "-m", "-"], "stdin can be read once"),
                        (["status", "a", "b"], "'b' is not wanted here"), (["cancel"], "the name of a job is required"),
                        (["logs", "ctr", "--role", "boss"], "boss")]:
        ran = prrun(*words)
        ended(ran, 64)
        has(ran.stderr, text)
    for words, text in [(["-b", "none.yaml"], "prdist[config.missing] submit: none.yaml: cannot be read: No such file or directory: check the path"),
                        (["-b", "backend.yaml", "--backend", "bogus"], "'bogus' is not known"),
                        (["-b", "backend.yaml", "--set", "submit.trainer_num=x"],
                         "prdist[config.invalid] submit: backend.yaml is not right, nothing was started: prgen explain CODE says more"),
                        (["-b", "backend.yaml", "--kube_version", "2"],
                         "submit: --kube_version '2' is not a version of Kubernetes: write for example 1.29"),
                        (["-b", "backend.yaml", "--template_dir", "/nonexistent"], "prgen's templates belong beside prrun"),
                        (["-b", "backend.yaml", "--backend", "ssh"], "submit: no machines: write hosts: [...] below submit, or a file 'machines'"),
                        (["status", "Not_a_name"], "prdist[config.invalid] submit: 'Not_a_name' is no name of a job: lower case letters"),
                        (["cancel", "--", "-x"], "")]:
        ran = prrun(*words, path=stand_in())
        ended(ran, 78 if text else 64)
        has(ran.stderr, text)
    for command in ["submit", "status", "logs", "cancel"]:
        ran = prrun(command, "--help")
        ended(ran, 0)
        check(ran.stdout.startswith("Examples:\n"), ran.stdout)
        ended(prrun(command, "--bogus"), 64)


if __name__ == "__main__":
    main(globals())
