# SPDX-License-Identifier: Apache-2.0
"""test_policy_files.py - rules, ports and logs of sandboxes that do not run"""
import glob
import json
import os
import shlex
import shutil
import subprocess

import pytest

from bawn import BAWN, wait
from record import write_log, write_record

CASES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "cases/network/*.case")))
BOX = "my-sandbox"


@pytest.fixture
def box(lone):
    """One that is only written down, for the home's project folder."""
    return write_record(lone, BOX)


@pytest.fixture
def spelled(lone, tmp_path):
    """The program by its other names; the user's home is the case's own."""
    links = tmp_path / "links"
    home = tmp_path / "user"
    os.makedirs(f"{home}/.docker/cli-plugins")
    os.makedirs(links)
    os.symlink(BAWN, links / "sbx")
    os.symlink(BAWN, f"{home}/.docker/cli-plugins/docker-sandbox")
    env = {**lone.env, "HOME": str(home), "PATH": f"{links}:{lone.env['PATH']}"}

    def run(command):
        words = shlex.split(command)
        if words[0] == "docker" and not shutil.which("docker"):
            words[:2] = [f"{home}/.docker/cli-plugins/docker-sandbox", "sandbox"]
        return subprocess.run(words, env=env, cwd=lone.workspace, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=60, check=False)
    run.home = str(home)
    return run


def own_rules(bawn, name=BOX):
    try:
        with open(f"{bawn.folder(name)}/policy", encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def global_rules(bawn):
    with open(f"{bawn.home}/config/policy", encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.mark.parametrize("path", CASES, ids=lambda path: os.path.basename(path)[:-5])
def test_command_lines_that_people_type(lone, box, spelled, path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("#")]
    for line in lines:
        if line.startswith("$ "):
            done = spelled(line[2:])
            assert done.returncode == 0, (line, done.stderr)
    assert sorted(own_rules(lone)) == sorted(
        line for line in lines if not line.startswith("$ "))


def test_rules_go_to_the_folders_sandbox_or_where_they_are_said_to(lone, box):
    lone("policy", "allow", "here.example")
    lone("policy", "allow", box, "named.example")
    lone("policy", "deny", "--sandbox", box, "other.example:8443")
    lone("policy", "allow", "-g", "all.example")
    assert own_rules(lone) == ["allow here.example", "allow named.example",
                               "deny other.example:8443"]
    assert global_rules(lone) == ["allow all.example"]


def test_a_folder_below_the_workspace_is_its_sandboxs_too(lone, box):
    os.makedirs(f"{lone.workspace}/a/b")
    lone("policy", "allow", "x.example", cwd=f"{lone.workspace}/a/b")
    assert own_rules(lone) == ["allow x.example"]
    result = lone.raw("policy", "allow", "x.example", cwd="/")
    assert result.code == 1 and "no sandbox" in result.err


def test_of_several_sandboxes_the_nearest_counts(lone, box):
    inner = f"{lone.workspace}/inner"
    os.makedirs(inner)
    write_record(lone, "inner-box", inner)
    lone("policy", "allow", "x.example", cwd=inner)
    assert own_rules(lone, "inner-box") == ["allow x.example"] and not own_rules(lone)


def test_methods_and_paths_belong_to_each_rule(lone, box):
    lone("policy", "allow", box, "a.example,b.example", "--method", "GET,HEAD",
         "--path", "/x/**")
    assert own_rules(lone) == ["allow GET,HEAD a.example/x/**",
                               "allow GET,HEAD b.example/x/**"]


def test_comments_and_order_of_a_file_stay(lone, box):
    with open(f"{lone.folder(box)}/policy", "w", encoding="utf-8") as file:
        file.write("# mine\nallow b.example  # why\n\ndeny a.example\n")
    lone("policy", "allow", box, "c.example")
    lone("policy", "rm", box, "a.example")
    assert own_rules(lone) == ["# mine", "allow b.example  # why", "",
                               "allow c.example"]


def test_rm_of_what_is_not_there_is_an_error(lone, box):
    lone("policy", "allow", box, "a.example")
    result = lone.raw("policy", "rm", box, "b.example")
    assert result.code == 1 and "b.example" in result.err
    lone("policy", "rm", box, "a.example")
    assert not own_rules(lone)


@pytest.mark.parametrize("rule", ["localhost", "a b", "a.example:0", "http://x", "x/y#z",
                                  "10.0.0.0/33", ""])
def test_what_is_no_rule_is_a_usage_error(lone, box, rule):
    result = lone.raw("policy", "allow", box, rule)
    assert result.code == 2 and len(result.err.splitlines()) == 1, result
    assert not own_rules(lone)


def test_a_forgotten_rule_is_not_taken_for_a_host(lone, box):
    result = lone.raw("policy", "allow", box)
    assert result.code == 2 and "which rule" in result.err


def test_an_error_in_a_file_names_the_line(lone, box):
    with open(f"{lone.folder(box)}/policy", "w", encoding="utf-8") as file:
        file.write("# first\nallow a.example\nallow b.example:99999\n")
    for command in (("policy", "check", box, "a.example"), ("policy", "ls", box),
                    ("policy", "allow", box, "c.example")):
        result = lone.raw(*command)
        assert result.code in (1, 125), result
        assert f"{box}/policy:3:" in result.err and result.err.count("\n") == 1, result
    assert len(own_rules(lone)) == 3


def test_init_chooses_the_preset_of_all_without_one(lone, box):
    assert lone.inspect(box)["policy"]["preset"] == "balanced"
    lone("policy", "allow", "-g", "x.example")
    lone("policy", "init", "deny-all")
    assert sorted(global_rules(lone)) == ["allow x.example", "preset deny-all"]
    assert lone.inspect(box)["policy"]["preset"] == "deny-all"
    lone("policy", "init", "allow-all", "--sandbox", box)
    policy = lone.inspect(box)["policy"]
    assert (policy["preset"], policy["default"]) == ("allow-all", "allow")
    result = lone.raw("policy", "init", "open")
    assert result.code == 2 and "balanced" in result.err


def test_check_ends_with_the_verdict(lone, box):
    lone("policy", "init", "deny-all")
    lone("policy", "allow", box, "a.example")
    assert lone.raw("policy", "check", box, "a.example").code == 0
    assert lone.raw("policy", "check", box, "b.example").code == 1
    assert lone.raw("policy", "check", box, "a.example:22").code == 1
    assert lone.raw("policy", "check", box, "https://a.example/x").code == 0
    assert lone.raw("policy", "check", box, "ftp://a.example").code == 2
    assert lone.raw("policy", "check", "none", "a.example").code == 125
    lone("policy", "deny", "-g", "a.example")
    assert lone.raw("policy", "check", box, "a.example").code == 1


def test_check_names_the_rule(lone, box):
    lone("policy", "init", "deny-all")
    lone("policy", "allow", box, "GET a.example/x/**,localhost:5432")
    found = lone.raw("policy", "check", box, "http://a.example/x/y", "--json").json
    assert found["allowed"] and found["rule"] == "allow GET a.example/x/**"
    assert (found["scope"], found["line"]) == ("sandbox", 1)
    assert found["source"] == f"{lone.folder(box)}/policy"
    assert lone.raw("policy", "check", box, "http://a.example/x/y", "--method",
                    "POST").code == 1
    assert lone.raw("policy", "check", box, "a.example", "--path", "/z").code == 1
    # Requests inside TLS are seen, unless the host is trusted and never looked into.
    assert lone.raw("policy", "check", box, "https://a.example/x/y").code == 0
    assert lone.raw("policy", "check", box, "https://a.example/z").code == 1
    lone("network", "proxy", box, "--bypass-host", "a.example")
    assert lone.raw("policy", "check", box, "https://a.example/z").code == 0
    assert lone.raw("policy", "check", box, "localhost:5432").code == 0
    found = lone.raw("policy", "check", box, "b.example", "--json").json
    assert not found["allowed"] and found["rule"] is None and found["by_default"]


def test_what_is_near_the_host_needs_its_own_rule(lone, box):
    lone("policy", "init", "allow-all")
    lone("policy", "allow", box, "**")
    for target in ("10.0.0.1", "127.0.0.1:80", "169.254.169.254:80", "[::1]:80"):
        assert lone.raw("policy", "check", box, target).code == 1, target
    lone("policy", "allow", box, "10.0.0.0/24")
    assert lone.raw("policy", "check", box, "10.0.0.1").code == 0


def test_check_without_a_sandbox_tells_what_a_new_one_may(lone):
    lone("policy", "init", "allow-all")
    assert lone.raw("policy", "check", "a.example").code == 0


def test_ls_lists_what_was_made_and_what_holds(lone, box):
    lone("policy", "allow", box, "a.example")
    lone("policy", "deny", "-g", "b.example")
    rows = lone("policy", "ls", "--json").json
    assert [(row["scope"], row["sandbox"], row["rule"]) for row in rows] == [
        ("global", None, "deny b.example"), ("sandbox", box, "allow a.example")]
    rows = lone("policy", "ls", box, "--json").json
    assert {row["scope"] for row in rows} == {"preset", "global", "sandbox"}
    out = lone("policy", "ls").out.splitlines()
    assert out[0].split() == ["SCOPE", "SANDBOX", "RULE", "SOURCE"]
    assert out[2].split()[:4] == ["sandbox", box, "allow", "a.example"]


def test_log_shows_a_line_for_each_decision(lone, box):
    write_log(lone, box, [
        {"name": "old.example", "time": "2026-01-01T00:00:00Z"}], "log.jsonl.1")
    write_log(lone, box, [
        {"name": "a.example"},
        {"name": "b.example", "verdict": "allow", "rule": "allow b.example",
         "protocol": "http", "port": 80, "method": "GET", "path": "/\x1b[2J"},
        {"address": "192.0.2.1", "port": 22, "protocol": "tcp"}])
    with open(f"{lone.folder(box)}/net/log.jsonl", "a", encoding="utf-8") as file:
        file.write("not JSON\n{}\n")
    out = lone("policy", "log", box).out
    assert "\x1b" not in out
    lines = out.splitlines()
    assert [line.split()[3] for line in lines] == [
        "old.example:443", "a.example:443", "b.example:80", "192.0.2.1:22"]
    assert "<default policy>" in lines[1] and "allow b.example" in lines[2]
    assert len(lone("policy", "log", "--limit", "2").out.splitlines()) == 2
    found = [json.loads(line) for line in lone("policy", "log", "--json").out.splitlines()]
    assert [line["name"] for line in found] == ["old.example", "a.example", "b.example",
                                                None]


def test_log_f_follows_through_a_rotation(lone, box):
    write_log(lone, box, [{"name": "a.example"}])
    process = lone.popen("policy", "log", box, "-f", "--json")
    try:
        assert json.loads(process.stdout.readline())["name"] == "a.example"
        write_log(lone, box, [{"name": "b.example"}])
        assert json.loads(process.stdout.readline())["name"] == "b.example"
        folder = f"{lone.folder(box)}/net"
        os.rename(f"{folder}/log.jsonl", f"{folder}/log.jsonl.1")
        write_log(lone, box, [{"name": "c.example"}])
        assert json.loads(process.stdout.readline())["name"] == "c.example"
    finally:
        process.kill()
        process.communicate()


def test_network_log_counts_hosts(lone, box):
    write_record(lone, "second", "/")
    write_log(lone, box, [
        {"name": "a.example"}, {"name": "a.example", "time": "2026-01-02T04:00:00Z"},
        {"name": "b.example", "verdict": "allow", "rule": "allow b.example"},
        {"name": "c.example", "protocol": "dns", "port": None}])
    write_log(lone, "second", [{"name": "d.example", "time": "2026-01-03T00:00:00Z"}])
    found = lone("network", "log", "--json").json
    assert [(row["sandbox"], row["host"], row["count"]) for row in found["blocked_hosts"]
            ] == [("second", "d.example:443", 1), (box, "a.example:443", 2)]
    assert [row["rule"] for row in found["allowed_hosts"]] == ["allow b.example"]
    out = lone("network", "log").out.splitlines()
    assert out[0] == "Blocked requests:" and "Allowed requests:" in out
    assert out[1].split() == ["SANDBOX", "HOST", "RULE", "LAST", "SEEN", "COUNT"]
    quiet = lone("network", "log", "-q", "--limit", "1").out.splitlines()
    assert [line.split()[1] for line in quiet] == ["d.example:443", "b.example:443"]


def test_learn_prints_rules_that_are_rules(lone, box):
    write_log(lone, box, [
        {"name": "a.example", "verdict": "allow", "rule": "allow **"},
        {"name": "b.example", "port": 8443},
        {"name": "host.docker.internal", "port": 5432, "protocol": "tcp"},
        {"name": "c.example", "verdict": "ask"},
        {"address": "192.0.2.1", "port": 22, "protocol": "tcp"}])
    rules = lone("policy", "learn", box).out
    lines = [line for line in rules.splitlines() if line and not line.startswith("#")]
    assert "allow a.example:443" in lines or "allow a.example" in lines, rules
    assert "allow b.example:8443" in lines and "allow 192.0.2.1:22" in lines, rules
    assert not any("c.example" in line for line in lines)
    with open(f"{lone.folder(box)}/policy", "w", encoding="utf-8") as file:
        file.write(rules)
    lone("policy", "init", "deny-all")
    for target in ("a.example", "b.example:8443", "192.0.2.1:22", "localhost:5432"):
        assert lone.raw("policy", "check", box, target).code == 0, (target, rules)


def test_ports_are_written_down_and_listed(lone, box):
    assert lone("ports", box, "--publish", "8080:3000").out == "127.0.0.1:8080:3000\n"
    chosen = lone("ports", box, "--publish", "4000").out.strip().split(":")
    assert chosen[2] == "4000" and int(chosen[1]) >= 1024
    found = lone("ports", box, "--json").json
    assert [(row["host"], row["guest"], row["published"]) for row in found] == [
        (8080, 3000, False), (int(chosen[1]), 4000, False)]
    assert "127.0.0.1:8080->3000" in lone("ls").out
    assert lone.row(box)["ports"][0] == {"address": "127.0.0.1", "host": 8080,
                                         "guest": 3000}
    lone("ports", box, "--unpublish", "8080:3000")
    assert [row["guest"] for row in lone("ports", box, "--json").json] == [4000]


def test_ports_that_cannot_be_are_refused(lone, box):
    lone("ports", box, "--publish", "8080:3000")
    assert lone.raw("ports", box, "--publish", "8080:3001").code == 1
    assert lone.raw("ports", box, "--publish", "localhost:1:2").code == 2
    assert lone.raw("ports", box, "--publish", "1:2/udp").code == 2
    assert lone.raw("ports", box, "--unpublish", "9").code == 1
    result = lone("ports", box, "--publish", "0.0.0.0:8081:3000")
    assert "other computers" in result.err
    assert len(lone("ports", box, "--json").json) == 2


def test_what_differs_from_an_existing_sandbox_shows_both_values(lone, box):
    lone("ports", box, "--publish", "8080:3000")
    for options, words in (
            (("--policy", "allow-all"), ("balanced", "allow-all")),
            (("--allow", "x.example"), ("x.example", f"bawn policy allow {box}")),
            (("--ask",), ("off", "on")),
            (("-p", "9090:3000"), ("127.0.0.1:8080->3000", "9090:3000"))):
        result = lone.raw("run", "-d", *options, box)
        assert result.code == 125 and result.err.count("\n") == 1, result
        for word in words:
            assert word in result.err, result


def test_approvals_of_nobody_are_an_empty_list(lone, box):
    assert lone("policy", "approvals", "ls", "--json").json == []
    assert lone("policy", "approvals").out.split() == ["SANDBOX", "ID", "TARGET",
                                                       "PROTOCOL", "LEFT"]
    assert lone.raw("policy", "approvals", "allow", box, "1").code == 1
    assert lone.raw("policy", "approvals", "permit").code == 2


def test_the_docker_spelling_keeps_its_file_current(lone, box, spelled):
    path = f"{spelled.home}/.docker/sandboxes/vm/{box}/proxy-config.json"
    assert not os.path.exists(path)
    if not shutil.which("docker"):
        pytest.skip("there is no docker client on this machine")
    spelled(f"docker sandbox network proxy {box} --policy deny --allow-host x.example "
            "--block-cidr 192.0.2.0/24")
    with open(path, encoding="utf-8") as file:
        assert json.load(file) == {"policy": "deny", "network": {
            "allowedDomains": ["x.example"], "blockedDomains": [],
            "blockCIDR": ["192.0.2.0/24"]}}
    env = lone.with_env(HOME=spelled.home)
    env("policy", "allow", box, "y.example")
    with open(path, encoding="utf-8") as file:
        assert "y.example" in file.read()
    env("rm", "-f", box)
    assert not os.path.exists(os.path.dirname(path))


def test_its_file_is_not_written_through_a_link(lone, box, spelled):
    if not shutil.which("docker"):
        pytest.skip("there is no docker client on this machine")
    target = f"{spelled.home}/target"
    os.makedirs(f"{spelled.home}/.docker/sandboxes/vm")
    os.makedirs(target)
    os.symlink(target, f"{spelled.home}/.docker/sandboxes/vm/{box}")
    done = spelled(f"docker sandbox network proxy {box} --policy deny")
    assert done.returncode == 1 and "link" in done.stderr, done
    assert os.listdir(target) == []


def test_two_changes_at_once_are_both_there(lone, box):
    running = [lone.popen("policy", "allow", box, f"h{i}.example") for i in range(8)]
    wait(lambda: all(process.poll() is not None for process in running), 30)
    for process in running:
        process.communicate()
    assert sorted(own_rules(lone)) == [f"allow h{i}.example" for i in range(8)]


def test_completion_knows_presets(lone, box):
    assert "deny-all" in lone("__complete", "policy", "init", "de").out
    assert "allow-all" in lone("__complete", "run", "--policy", "").out
    assert box in lone("__complete", "policy", "allow", "").out
