"""What tests with real jobs begin with: planted rows to train on, and a port for the nodes to meet at."""
import os
import socket
import subprocess


def plant(bin_dir, work, rows=4000, files=4, test_rows=2000, deadline=100):
    """Rows in work/data/train and work/data/test; returns the names of the training files."""
    subprocess.run([os.path.join(bin_dir, "prdata"), "--out", "data", "--rows", str(rows), "--test-rows", str(test_rows),
                    "--files", str(files)], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=deadline)
    return sorted(os.listdir(os.path.join(work, "data", "train")))


def held_port():
    """A socket on loopback that is bound and does not listen: nobody else takes its port, and a first node may listen
    there all the same."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held
