# SPDX-License-Identifier: Apache-2.0
"""On a terminal: size, keys, detach and re-attach, redraw."""
import re

import pytest

from bawn import SMALL, START_SECONDS, wait

PROMPT = r"[#$] ?$"


def shell(bawn, screen, name, cols=80, rows=24):
    one = screen(cols, rows).bawn("run", "--name", name, *SMALL, "shell", ".")
    one.see(PROMPT, START_SECONDS)
    return one


def test_a_newcomer_gets_a_shell_by_one_command(bawn, screen):
    one = shell(bawn, screen, "term-a")
    one.type("echo sum=$((40+2))")
    one.see("^sum=42")
    one.type("exit 5")
    assert one.exit_code() == 5


def test_it_gives_a_terminal_of_the_right_size(bawn, shared_box, screen):
    one = screen(93, 31).bawn("exec", "-it", shared_box, "stty", "size")
    one.see("^31 93")
    assert one.exit_code() == 0


def test_a_resize_reaches_the_guest(bawn, shared_box, screen):
    one = screen(80, 24).bawn("exec", "-it", shared_box, "sh", "-c",
                              "trap 'stty size' WINCH; echo ready; "
                              "while :; do sleep 0.1; done")
    one.see("^ready")
    one.resize(100, 30)
    one.see("^30 100")
    one.keys("C-c")
    assert one.exit_code() == 130


def test_tty_is_a_terminal_and_a_pipe_is_not(bawn, shared_box, screen):
    one = screen().bawn("exec", "-it", shared_box, "tty")
    one.see("/dev/pts/")
    assert bawn.raw("exec", shared_box, "tty").out.strip() == "not a tty"


def test_t_without_a_terminal_says_so(bawn, shared_box):
    done = bawn.raw("exec", "-it", shared_box, "true")
    assert done.code in (2, 125) and "terminal" in done.err, done


def test_ctrl_c_reaches_the_command_and_not_the_sandbox(bawn, shared_box, screen):
    one = screen().bawn("exec", "-it", shared_box, "sh", "-c",
                        "echo ready; exec sleep 4000")
    one.see("^ready")
    one.keys("C-c")
    assert one.exit_code() == 130
    assert bawn.exec(shared_box, "echo", "alive").out == "alive\n"


def test_ctrl_d_ends_the_shell(bawn, screen):
    one = shell(bawn, screen, "term-b")
    one.keys("C-d")
    assert one.exit_code() == 0


def test_the_terminal_is_as_before_afterwards(bawn, shared_box, screen):
    from bawn import BAWN
    one = screen().start("sh", "-c",
                         f"stty -a > before; {BAWN} exec -it {shared_box} true; "
                         "stty -a > after; cmp before after && echo same")
    one.see("^same")


def test_detach_leaves_the_session_and_attach_redraws_it(bawn, screen):
    one = shell(bawn, screen, "term-c")
    one.type("stty -echo; clear; echo remember me; secret=42")
    one.see("^remember me")
    one.keys("C-p", "C-q")
    assert one.exit_code() == 0
    two = screen().bawn("run", "term-c")
    two.see("^remember me", START_SECONDS)
    two.type("echo still $secret")
    two.see("still 42")
    two.keys("C-p", "C-q")
    assert two.exit_code() == 0


def test_a_killed_terminal_leaves_the_main_session(bawn, screen):
    one = shell(bawn, screen, "term-d")
    one.type("keep=here; echo set")
    one.see("^set")
    one.close()
    two = screen().bawn("run", "term-d")
    two.see("^set", START_SECONDS)
    two.type("echo $keep again")
    two.see("^here again")


def test_attach_fits_the_screen_to_another_size(bawn, screen):
    one = shell(bawn, screen, "term-e", 80, 24)
    one.keys("C-p", "C-q")
    one.exit_code()
    two = screen(120, 40).bawn("run", "term-e")
    two.see(PROMPT, START_SECONDS)
    two.type("stty size")
    two.see("^40 120")


def test_two_terminals_on_one_session_both_see_it(bawn, screen):
    one = shell(bawn, screen, "term-f")
    two = screen().bawn("run", "term-f")
    two.see(PROMPT, START_SECONDS)
    one.type("echo to both")
    one.see("^to both")
    two.see("^to both")


@pytest.mark.parametrize("cols, rows", [(2, 2), (10, 3), (400, 120)])
def test_any_terminal_size_works(bawn, shared_box, screen, cols, rows):
    one = screen(cols, rows).bawn("exec", "-it", shared_box, "sh", "-c",
                                  "stty size > /tmp/size; sleep 0.2; exit 4")
    wait(lambda: bawn.sh(shared_box, "cat /tmp/size 2>/dev/null || true")
         == f"{rows} {cols}", 30, "the guest has the size")
    one.resize(80, 24)
    wait(lambda: "4" in one.text(), 30, "the command ended")


def test_ctrl_c_while_starting_leaves_nothing_half_made(bawn, screen):
    """At whatever moment it comes, the next command works."""
    for _ in range(3):
        one = screen().bawn("run", "--name", "term-g", *SMALL, "shell", ".")
        one.keys("C-c")
        # The shell around it may die of the same Ctrl-C: no screen then.
        wait(lambda: one.text() == "" or re.search(r"EXIT:\d+|[#$] ?$", one.text(), re.M),
             START_SECONDS, "it ended or started")
        one.close()
    two = screen().bawn("run", "--name", "term-g", *SMALL, "shell", ".")
    two.see(PROMPT, START_SECONDS)
    two.type("echo fine")
    two.see("^fine")


def test_ls_fits_a_narrow_terminal(bawn, shared_box, screen):
    one = screen(30, 10).bawn("ls")
    assert one.exit_code() == 0


def test_progress_is_drawn_on_a_terminal_only(bawn):
    done = bawn("create", "--name", "term-h", *SMALL, "shell", ".",
                timeout=START_SECONDS)
    assert "\x1b" not in done.err and "\r" not in done.err
    assert done.out == "term-h\n"
