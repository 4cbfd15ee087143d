# SPDX-License-Identifier: Apache-2.0
"""exec: streams, codes, users, folders, environment."""
import hashlib
import os
import signal

import pytest

from bawn import SMALL, START_SECONDS, wait


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 1", 1), ("exit 7", 7), ("exit 255", 255),
    ("kill -9 $$", 137), ("kill -15 $$", 143),
])
def test_exit_codes_pass_through(bawn, shared_box, script, code):
    assert bawn.raw("exec", shared_box, "sh", "-c", script).code == code


def test_a_missing_program_is_127_and_is_named(bawn, shared_box):
    done = bawn.raw("exec", shared_box, "no-such-program")
    assert done.code == 127 and "no-such-program" in done.err


def test_what_cannot_be_executed_is_126(bawn, shared_box):
    assert bawn.raw("exec", shared_box, "/etc/passwd").code == 126
    assert bawn.raw("exec", shared_box, "/").code == 126


def test_a_missing_sandbox_is_125_and_is_named(bawn):
    done = bawn.raw("exec", "no-such-box", "true")
    assert done.code == 125 and "no-such-box" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_missing_user_or_folder_is_125_and_says_which(bawn, shared_box):
    done = bawn.raw("exec", "-u", "nobody-here", shared_box, "true")
    assert done.code == 125 and "nobody-here" in done.err
    done = bawn.raw("exec", "-w", "/no/such/folder", shared_box, "true")
    assert done.code == 125 and "/no/such/folder" in done.err


def test_usage_errors_are_2(bawn, shared_box):
    assert bawn.raw("exec").code == 2
    assert bawn.raw("exec", "--no-such-option", shared_box, "true").code == 2
    assert bawn.raw("exec", shared_box).code == 2


def test_stdout_and_stderr_stay_apart(bawn, shared_box):
    done = bawn("exec", shared_box, "sh", "-c", "echo out; echo err >&2")
    assert (done.out, done.err) == ("out\n", "err\n")


def test_stdin_reaches_the_command_with_i(bawn, shared_box):
    assert bawn("exec", "-i", shared_box, "cat", input="typed").out == "typed"


def test_stdin_is_empty_without_i(bawn, shared_box):
    assert bawn("exec", shared_box, "cat", input="typed").out == ""


def test_twenty_megabytes_of_any_bytes_come_back_as_they_went(bawn, shared_box):
    given = os.urandom(20 * 1024 * 1024)
    done = bawn("exec", "-i", shared_box, "cat", input=given, timeout=120)
    assert hashlib.sha256(done.out).digest() == hashlib.sha256(given).digest()


def test_a_reader_that_stops_early_does_not_hang(bawn, shared_box):
    given = os.urandom(4 * 1024 * 1024)
    done = bawn.raw("exec", "-i", shared_box, "head", "-c", "5", input=given)
    assert done.code == 0 and done.out == given[:5]


def test_a_closed_pipe_ends_the_command(bawn, shared_box):
    job = bawn.popen("exec", shared_box, "sh", "-c",
                     "while :; do echo flood flood flood; done")
    assert job.stdout.read(100000)
    job.stdout.close()
    job.wait(timeout=30)
    wait(lambda: bawn.running(shared_box, "flood") == 0, 30, "the writer is gone")


def test_output_without_a_newline_and_empty_output(bawn, shared_box):
    assert bawn("exec", shared_box, "printf", "abc").out == "abc"
    assert bawn("exec", shared_box, "true").out == ""


def test_arguments_arrive_as_given(bawn, shared_box):
    words = ["", " ", "a b", "'", '"', "$HOME", "*", "\\", "-x", "ü€🙂", "a\nb", "\t"]
    done = bawn("exec", shared_box, "sh", "-c", 'printf "%s\\0" "$@"', "sh", *words,
                input=b"")
    assert done.out.split(b"\0")[:-1] == [word.encode() for word in words]


def test_many_and_long_arguments(bawn, shared_box):
    words = ["x" * 100] * 1000
    done = bawn("exec", shared_box, "sh", "-c", 'echo $#', "sh", *words)
    assert done.out == "1000\n"


def test_e_sets_variables(bawn, shared_box):
    done = bawn("exec", "-e", "ONE=1 and a half", "-e", "EMPTY=", shared_box, "sh",
                "-c", 'echo "$ONE|${EMPTY-unset}|"')
    assert done.out == "1 and a half||\n"


def test_e_without_a_value_takes_the_hosts(bawn, shared_box):
    other = bawn.with_env(FROM_HOST="host value")
    done = other("exec", "-e", "FROM_HOST", shared_box, "sh", "-c",
                 'echo "$FROM_HOST"')
    assert done.out == "host value\n"


def test_env_file_sets_variables(bawn, shared_box, tmp_path):
    (tmp_path / "vars").write_text("# a comment\n\nA=1\nB=two words\n")
    done = bawn("exec", "--env-file", tmp_path / "vars", shared_box, "sh", "-c",
                'echo "$A,$B"')
    assert done.out == "1,two words\n"


def test_the_hosts_environment_stays_outside(bawn, shared_box):
    other = bawn.with_env(SECRET_OF_HOST="hunter2")
    done = other("exec", shared_box, "env")
    assert "SECRET_OF_HOST" not in done.out and bawn.home not in done.out


def test_the_guest_knows_where_it_is(bawn, shared_box):
    done = bawn("exec", shared_box, "env")
    variables = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    assert variables["SANDBOX_NAME"] == shared_box
    assert variables["IS_SANDBOX"] == "1"
    assert len(variables["SANDBOX_ID"]) >= 8
    assert variables["WORKSPACE_DIR"] == bawn.workspace
    assert variables["PATH"]


def test_w_chooses_the_folder(bawn, shared_box):
    assert bawn("exec", "-w", "/etc", shared_box, "pwd").out == "/etc\n"


def test_u_chooses_the_user(bawn, shared_box):
    assert bawn("exec", "-u", "root", shared_box, "id", "-u").out == "0\n"
    assert bawn("exec", "-u", "1234:4321", shared_box, "sh", "-c",
                "id -u; id -g").out == "1234\n4321\n"


def test_the_user_is_agent_where_the_template_has_it(bawn, shared_box):
    has_agent = bawn.sh(shared_box, "grep -c ^agent: /etc/passwd || true")
    uid = bawn("exec", shared_box, "id", "-u").out
    assert uid == ("1000\n" if has_agent == "1" else "0\n")


def test_d_returns_at_once_and_the_command_goes_on(bawn, shared_box):
    done = bawn("exec", "-d", "-u", "root", shared_box, "sh", "-c",
                "echo ready > /tmp/detached; exec sleep 1000", timeout=20)
    assert done.code == 0
    wait(lambda: bawn.sh(shared_box, "cat /tmp/detached 2>/dev/null || true") == "ready")
    assert bawn.running(shared_box, "sleep 1000") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_of_the_caller_reach_the_command(bawn, shared_box, number):
    name = signal.Signals(number).name[3:]
    job = bawn.popen("exec", shared_box, "sh", "-c",
                     f"trap 'echo got {name}; exit 9' {name}; echo ready; "
                     "while :; do sleep 0.1; done")
    assert job.stdout.readline() == b"ready\n"
    job.send_signal(number)
    out, err = job.communicate(timeout=30)
    assert (out, job.returncode) == (f"got {name}\n".encode(), 9), err


def test_a_killed_cli_ends_what_it_started(bawn, shared_box):
    job = bawn.popen("exec", shared_box, "sh", "-c", "echo ready; exec sleep 2000")
    assert job.stdout.readline() == b"ready\n"
    job.kill()
    job.wait()
    wait(lambda: bawn.running(shared_box, "sleep 2000") == 0, 30, "the command is gone")


def test_a_background_child_does_not_hold_up_exec(bawn, shared_box):
    done = bawn("exec", shared_box, "sh", "-c",
                "sleep 3000 >/dev/null 2>&1 & echo started", timeout=20)
    assert done.out == "started\n"
    assert bawn.running(shared_box, "sleep 3000") == 1


def test_exec_starts_a_stopped_sandbox(bawn, box):
    bawn("stop", "--power-off", box)
    assert bawn.exec(box, "echo", "back", timeout=START_SECONDS).out == "back\n"
    assert bawn.status(box) == "running"


def test_many_execs_at_once(bawn, shared_box):
    jobs = [bawn.popen("exec", shared_box, "sh", "-c", f"echo {n}; exit {n}")
            for n in range(16)]
    outs = [job.communicate(timeout=90)[0] for job in jobs]
    assert outs == [f"{n}\n".encode() for n in range(16)]
    assert [job.returncode for job in jobs] == list(range(16))


def test_a_stalled_reader_holds_up_its_own_stream_only(bawn, shared_box):
    stalled = bawn.popen("exec", shared_box, "sh", "-c", "yes | head -c 30000000")
    assert stalled.stdout.read(1)
    done = bawn("exec", shared_box, "sh", "-c", "yes | head -c 1000000 | wc -c")
    assert done.out.strip() == "1000000"
    stalled.kill()
    stalled.wait()


def test_run_passes_the_commands_code_through(bawn):
    for code in (0, 3):
        done = bawn.raw("run", "--rm", *SMALL, "shell", ".", "--", "-c",
                        f"exit {code}", timeout=START_SECONDS)
        assert done.code == code, done


def test_run_in_a_pipe_reads_stdin_and_writes_stdout(bawn):
    done = bawn("run", "--rm", *SMALL, "shell", ".", "--", "-c", "cat; echo end",
                input="a line\n", timeout=START_SECONDS)
    assert done.out == "a line\nend\n"


def test_run_with_a_bare_word_replaces_the_agents_own_command(bawn):
    done = bawn("run", "--rm", *SMALL, "shell", ".", "--", "uname", "-s",
                timeout=START_SECONDS)
    assert done.out == "Linux\n"
