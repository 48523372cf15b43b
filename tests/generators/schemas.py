# SPDX-License-Identifier: Apache-2.0
"""Validates what prgen renders, as the golden files hold it, against the real schemas: Kubernetes' own by
kubernetes-validate from PyPI, in several versions and strictly; custom resources by the CRDs in ../shared/crds where
that folder is at hand beside the checkout. Also the JSON Schema that prgen prints, by itself and against every
backend.yaml here. Skipped, with the reason, where PyPI cannot be had.

    schemas.py PRGEN GOLDEN_FOLDER WORK_FOLDER SOURCE_FOLDER
"""

import json
import pathlib
import subprocess
import sys

SKIPPED = 77
VERSIONS = ["1.31", "1.32", "1.33"]
OLD = {"k8s_old_cluster": ["1.25", "1.29"], "k8s_mid_age_cluster": ["1.26", "1.27", "1.28"]}
NEEDED = ["kubernetes-validate>=1.31", "jsonschema>=4", "pyyaml"]


def python_of(work):
    """The Python of a virtual environment with the validators, or None."""
    python = work / "venv/bin/python"
    marker = work / "venv/ready"
    if not marker.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", work / "venv"], check=True)
            subprocess.run([work / "venv/bin/pip", "install", "--quiet", "--retries", "1", "--timeout", "20", *NEEDED], check=True)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"skipped: the validators could not be installed from PyPI: {error}")
            return None
        marker.write_text("ready\n", encoding="utf-8")
    return python


def custom_schemas(crds):
    """(apiVersion, kind) to the OpenAPI schema of each CRD."""
    import yaml

    found = {}
    for path in sorted(crds.glob("*.yaml")):
        for crd in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if not crd or crd.get("kind") != "CustomResourceDefinition":
                continue
            for version in crd["spec"]["versions"]:
                key = (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"])
                found[key] = version["schema"]["openAPIV3Schema"]
    return found


def closed(schema):
    """OpenAPI as strict JSON Schema: unknown fields are errors, and int-or-string means what it says."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        out.pop("type", None)
    if "properties" in schema and isinstance(schema["properties"], dict) and schema.get("type") == "object":
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            out.setdefault("additionalProperties", False)
    return out


def validate(prgen, golden, crds):
    import jsonschema
    import kubernetes_validate
    import yaml

    custom = custom_schemas(crds) if crds.is_dir() else {}
    if not custom:
        print(f"note: {crds} is not here: Volcano Jobs and PaddleJobs are not checked against their CRDs")
    schema = json.loads(subprocess.run([prgen, "schema"], check=True, capture_output=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    editor = jsonschema.Draft202012Validator(schema)
    checked = faults = 0
    for path in sorted([*golden.glob("*/expected.yaml"), *golden.glob("*/expected/*.yaml")]):
        case = path.relative_to(golden).parts[0]
        if path.name == "config.yaml":
            continue
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            key = (document["apiVersion"], document["kind"])
            what = f"{case}: {key[1]} {document['metadata']['name']}"
            if key in custom:
                for error in jsonschema.Draft202012Validator(closed(custom[key])).iter_errors(document):
                    print(f"{what}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}")
                    faults += 1
                checked += 1
            elif "volcano" in key[0] or key[1] == "PaddleJob":
                pods = [task["template"] for task in document["spec"].get("tasks", [])]
                roles = document["spec"].get("paddleReplicaSpecs", document["spec"])
                pods += [role["template"] for role in roles.values() if isinstance(role, dict) and "template" in role]
                for pod in pods:
                    spec = {"template": {**pod, "spec": {"restartPolicy": "Never", **pod["spec"]}}}
                    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pod"}, "spec": spec}
                    faults += strictly(kubernetes_validate, job, VERSIONS[-1], what)
                    checked += 1
            else:
                for version in OLD.get(case, VERSIONS):
                    faults += strictly(kubernetes_validate, document, version, what)
                    checked += 1
    for path in sorted(golden.glob("*/backend.yaml")):
        for error in editor.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8"))):
            print(f"{path}: the schema for editors refuses it: {error.message[:200]}")
            faults += 1
        checked += 1
    wrong = {"engine": {"backend": "k8s", "submit": {"memroy": "4Gi"}}}
    if not list(editor.iter_errors(wrong)):
        print("the schema for editors accepts a key that does not exist")
        faults += 1
    print(f"{checked} checks, {faults} faults")
    return 1 if faults or checked < 50 else 0


def strictly(kubernetes_validate, document, version, what):
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.VersionNotSupportedError:
        print(f"note: the validator has no Kubernetes {version}")
    except kubernetes_validate.ValidationError as error:
        print(f"{what}, Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message[:200]}")
        return 1
    return 0


def main(prgen, golden, work, source, inside=None):
    golden, work = pathlib.Path(golden), pathlib.Path(work)
    crds = pathlib.Path(source).parent / "shared/crds"
    if not crds.is_dir():
        crds = pathlib.Path(source).parent.parent / "shared/crds"
    if inside:
        return validate(prgen, golden, crds)
    work.mkdir(parents=True, exist_ok=True)
    python = python_of(work)
    if python is None:
        return SKIPPED
    return subprocess.run([python, __file__, prgen, golden, work, source, "inside"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
