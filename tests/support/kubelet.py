# SPDX-License-Identifier: BSD-3-Clause
"""Runs a pod as a kubelet has its container runtime do it: by calls of the CRI (runtime.v1), gRPC over a socket, which curl speaks.

    kubelet.py version SOCKET
    kubelet.py run SOCKET POD IMAGE DIRECTORY [CLASS] [-- COMMAND...]
    kubelet.py image FILE NAME ROOTFS

run: a sandbox, the pod's one container in it (with this image, and perhaps another command), its end, the removal of both. The document
of a RuntimeClass says the handler; without, it is the runtime's own. The container's output goes to standard output, with the
annotations of the document given to both. Exit status: the container's. DIRECTORY: for logs; profiles of the node are beside it.
image: a file for `ctr image import`, made of a tree.
"""
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time

# Fields of the messages: number and type. "map": of texts, "[T]": several.
MESSAGES = {
    "VersionRequest": {},
    "VersionResponse": {"runtime_name": (2, "text"), "runtime_api_version": (4, "text")},
    "PodSandboxMetadata": {"name": (1, "text"), "uid": (2, "text"), "namespace": (3, "text"), "attempt": (4, "number")},
    "NamespaceOption": {"network": (1, "number"), "pid": (2, "number"), "ipc": (3, "number")},
    "SandboxSecurity": {"namespace_options": (1, "NamespaceOption")},
    "LinuxPodSandboxConfig": {"cgroup_parent": (1, "text"), "security_context": (2, "SandboxSecurity")},
    "PodSandboxConfig": {"metadata": (1, "PodSandboxMetadata"), "hostname": (2, "text"), "log_directory": (3, "text"), "labels": (6, "map"),
                         "annotations": (7, "map"), "linux": (8, "LinuxPodSandboxConfig")},
    "RunPodSandboxRequest": {"config": (1, "PodSandboxConfig"), "runtime_handler": (2, "text")},
    "RunPodSandboxResponse": {"pod_sandbox_id": (1, "text")},
    "ContainerMetadata": {"name": (1, "text"), "attempt": (2, "number")},
    "ImageSpec": {"image": (1, "text")},
    "SecurityProfile": {"profile_type": (1, "number"), "localhost_ref": (2, "text")},
    "ContainerSecurity": {"namespace_options": (3, "NamespaceOption"), "seccomp": (15, "SecurityProfile")},
    "LinuxContainerConfig": {"security_context": (2, "ContainerSecurity")},
    "ContainerConfig": {"metadata": (1, "ContainerMetadata"), "image": (2, "ImageSpec"), "command": (3, "[text]"), "args": (4, "[text]"),
                        "labels": (9, "map"), "annotations": (10, "map"), "log_path": (11, "text"), "linux": (15, "LinuxContainerConfig")},
    "CreateContainerRequest": {"pod_sandbox_id": (1, "text"), "config": (2, "ContainerConfig"), "sandbox_config": (3, "PodSandboxConfig")},
    "CreateContainerResponse": {"container_id": (1, "text")},
    "StartContainerRequest": {"container_id": (1, "text")},
    "StartContainerResponse": {},
    "ContainerStatusRequest": {"container_id": (1, "text")},
    "ContainerStatusResponse": {"status": (1, "ContainerStatus")},
    "ContainerStatus": {"state": (3, "number"), "exit_code": (7, "number"), "reason": (10, "text"), "message": (11, "text")},
    "StopPodSandboxRequest": {"pod_sandbox_id": (1, "text")},
    "StopPodSandboxResponse": {},
    "RemovePodSandboxRequest": {"pod_sandbox_id": (1, "text")},
    "RemovePodSandboxResponse": {},
}
OWN, EXITED = 1, 2  # NamespaceMode CONTAINER; CONTAINER_EXITED
PROFILES = {"RuntimeDefault": 0, "Unconfined": 1, "Localhost": 2}


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def delimited(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode(kind, value):
    out = b""
    for name, item in value.items():
        number, of = MESSAGES[kind][name]
        if of == "map":
            for key in item:
                out += delimited(number, delimited(1, key.encode()) + delimited(2, item[key].encode()))
        elif of == "number":
            out += varint(number << 3) + varint(item)
        else:
            for one in item if of.startswith("[") else [item]:
                inner = of.strip("[]")
                out += delimited(number, one.encode() if inner == "text" else encode(inner, one))
    return out


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return n, at


def decode(kind, data):
    """The fields that MESSAGES has, without maps and repeated ones."""
    names = {number: (name, of) for name, (number, of) in MESSAGES[kind].items()}
    value, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        name, of = names.get(tag >> 3, (None, None))
        if tag & 7 == 0:
            if name:
                value[name] = size
            continue
        part, at = data[at:at + size], at + size
        if name:
            value[name] = part.decode() if of == "text" else decode(of, part)
    return value


def call(socket, method, **request):
    message = encode(method + "Request", request)
    with tempfile.NamedTemporaryFile() as headers:
        done = subprocess.run(
            ["curl", "-sS", "--http2-prior-knowledge", "--unix-socket", socket, "-D", headers.name, "--max-time", "120",
             "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-",
             f"http://localhost/runtime.v1.RuntimeService/{method}"],
            input=b"\0" + len(message).to_bytes(4, "big") + message, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = open(headers.name, encoding="utf-8").read()
    status = re.search(r"(?im)^grpc-status: *(\d+)", said)
    if done.returncode != 0 or not status or status.group(1) != "0":
        reason = re.search(r"(?im)^grpc-message: *(.*)", said)
        sys.exit(f"{method}: {reason.group(1).strip() if reason else done.stderr.decode() or said}")
    return decode(method + "Response", done.stdout[5:])


def run_container(socket, sandbox, sandbox_config, config):
    made = call(socket, "CreateContainer", pod_sandbox_id=sandbox, sandbox_config=sandbox_config, config=config)["container_id"]
    call(socket, "StartContainer", container_id=made)
    status = {}
    while status.get("state", 0) != EXITED:
        time.sleep(0.05)
        status = call(socket, "ContainerStatus", container_id=made)["status"]
    return status


def run(socket, pod, image, directory, runtime_class, command):
    container = pod["spec"]["containers"][0]
    annotations = pod["metadata"].get("annotations", {})
    name = pod["metadata"]["name"]
    namespaces = {"network": 0, "pid": OWN, "ipc": 0}
    labels = {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "uid-of-" + name}
    config = {
        "metadata": {"name": name, "uid": "uid-of-" + name, "namespace": "default", "attempt": 0},
        "hostname": name, "log_directory": directory, "labels": labels, "annotations": annotations,
        "linux": {"security_context": {"namespace_options": namespaces}},
    }
    asked = container.get("securityContext", {}).get("seccompProfile", {"type": "Unconfined"})
    profile = {"profile_type": PROFILES[asked["type"]]}
    if "localhostProfile" in asked:
        profile["localhost_ref"] = os.path.join(os.path.dirname(directory), asked["localhostProfile"])
    handler = {"runtime_handler": runtime_class["handler"]} if runtime_class else {}
    sandbox = call(socket, "RunPodSandbox", config=config, **handler)["pod_sandbox_id"]
    try:
        status = run_container(socket, sandbox, config, {
            "metadata": {"name": container["name"], "attempt": 0}, "image": {"image": image},
            "command": command or container.get("command", []), "args": [] if command else container.get("args", []),
            "labels": labels, "annotations": annotations, "log_path": "log",
            "linux": {"security_context": {"namespace_options": namespaces, "seccomp": profile}},
        })
    finally:
        call(socket, "StopPodSandbox", pod_sandbox_id=sandbox)
        call(socket, "RemovePodSandbox", pod_sandbox_id=sandbox)
    with open(directory + "/log", encoding="utf-8") as log:
        for line in log:  # "TIME STREAM TAG text"
            _, stream, tag, text = line.rstrip("\n").split(" ", 3)
            print(text, end="" if tag == "P" else "\n", file=sys.stderr if stream == "stderr" else sys.stdout)
    return status.get("exit_code", 0)


def make_image(file, name, rootfs):
    blobs = []

    def blob(kind, data):
        blobs.append(data)
        return {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}

    def add(archive, path, data):
        entry = tarfile.TarInfo(path)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))

    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w") as archive:
        archive.add(rootfs, arcname=".")
    oci = "application/vnd.oci.image."
    layer = blob(oci + "layer.v1.tar", tree.getvalue())
    config = blob(oci + "config.v1+json", json.dumps({
        "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/busybox", "sleep", "100000"]}}).encode())
    manifest = blob(oci + "manifest.v1+json", json.dumps({"schemaVersion": 2, "config": config, "layers": [layer]}).encode())
    manifest["annotations"] = {"io.containerd.image.name": name}
    with tarfile.open(file, "w") as archive:
        add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
        for data in blobs:
            add(archive, "blobs/sha256/" + hashlib.sha256(data).hexdigest(), data)


def main(arguments):
    command = []
    if "--" in arguments:
        command = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    what, *rest = arguments
    if what == "version":
        print(call(rest[0], "Version"))
        return 0
    if what == "image":
        make_image(*rest)
        return 0
    import yaml  # pylint: disable=import-outside-toplevel
    socket, pod, image, directory, *classes = rest
    documents = [yaml.safe_load(open(file, encoding="utf-8")) for file in [pod, *classes]]
    return run(socket, documents[0], image, directory, documents[1] if classes else None, command)


sys.exit(main(sys.argv[1:]))
