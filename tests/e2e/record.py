# SPDX-License-Identifier: Apache-2.0
"""record.py - a sandbox that is only written down, for commands without a machine"""
import json
import os

from bawn import ROOT


def write_record(bawn, name, workspace=None, **other):
    """Makes the folder of a stopped sandbox; returns its name."""
    folder = bawn.folder(name)
    record = {
        "version": 3, "name": name, "id": "0" * 32, "agent": "shell",
        "mode": "direct", "cloned": False, "with_changes": False,
        "quota_bytes": 0, "quota_inodes": 0, "template_name": "tiny",
        "template_id": "0", "warm_key": None, "kernel_key": None,
        "machine": None, "cpu": None, "accel": "auto", "accel_used": None,
        "isolation": "microvm", "cpus": 1, "memory_mib": 256,
        "disk_bytes": 17179869184, "uid": 0x70000000 if ROOT else 0,
        "remove_at_end": False, "created": 1, "last_used": 1, "hide": [],
        "shares": [{"host": workspace or bawn.workspace,
                    "guest": workspace or bawn.workspace,
                    "read_only": False, "added": False}],
        "ports": [], "sockets": [], "ask": False,
        **other,
    }
    os.makedirs(f"{folder}/machine", mode=0o700)
    with open(f"{folder}/sandbox.json", "w", encoding="utf-8") as file:
        json.dump(record, file)
    return name


def write_log(bawn, name, lines, file="log.jsonl"):
    """Lines of bawn-net; each a dict of what differs from a blocked TLS one."""
    os.makedirs(f"{bawn.folder(name)}/net", mode=0o700, exist_ok=True)
    with open(f"{bawn.folder(name)}/net/{file}", "a", encoding="utf-8") as out:
        for line in lines:
            out.write(json.dumps({
                "time": "2026-01-02T03:04:05Z", "sandbox": name, "id": 1,
                "name": None, "address": None, "port": 443, "protocol": "tls",
                "verdict": "deny", **line}) + "\n")
