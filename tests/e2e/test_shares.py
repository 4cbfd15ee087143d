# SPDX-License-Identifier: Apache-2.0
"""Shared folders: where they are, what may be written, what is not seen.

One sandbox serves most cases; each has files of its own in it.
"""
import json
import os
import subprocess

import pytest

from bawn import BAWN, SMALL, START_SECONDS, wait

MIB = 1 << 20
SETTINGS = json.dumps({"permissions": {"deny": ["Read(./.env)", "Edit(./seen)",
                                                "Read(./deep/**/private)"]}})


def put(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Place:
    """Folders of the host and the sandbox that sees them."""

    def __init__(self, folder):
        self.home = f"{folder}/home"
        self.project = f"{folder}/pro jekt ä"
        self.other = f"{folder}/other"
        self.single = f"{folder}/single.txt"
        self.name = "shares-box"


@pytest.fixture(scope="module")
def place(session, tmp_path_factory):
    p = Place(tmp_path_factory.mktemp("shares"))
    put(f"{p.project}/seen", "from the host\n")
    put(f"{p.project}/.bawnignore", "# ours\n/secret/\n*.pem\n!*.key\n")
    put(f"{p.project}/.claude/settings.json", SETTINGS)
    put(f"{p.project}/.claude/settings.local.json", "no JSON")
    # as people do who keep their settings elsewhere
    put(f"{p.home}/.claude/none", "")
    put(f"{p.home}-dotfiles/claude",
        json.dumps({"permissions": {"deny": [f"Read(/{p.other}/user)"]}}))
    os.symlink(f"{p.home}-dotfiles/claude", f"{p.home}/.claude/settings.json")
    put(f"{p.home}/other-claude/settings.json",
        json.dumps({"permissions": {"deny": ["Read(./elsewhere)"]}}))
    for hidden in (".env", "secret/x", "a.pem", "b.key", "deep/1/2/private", "elsewhere"):
        put(f"{p.project}/{hidden}", "hidden")
    # other names of a hidden file; those of one that lies in another share are not hidden
    os.makedirs(p.other)
    for other in (f"{p.project}/seen-env", f"{p.other}/env"):
        os.link(f"{p.project}/.env", other)
    put(f"{p.project}/vendor/lib", "theirs\n")
    os.link(f"{p.project}/vendor/lib", f"{p.project}/vendor/lib2")
    put(f"{p.other}/file", "other\n")
    put(f"{p.other}/user", "hidden\n")
    put(p.single, "single\n")
    p.bawn = session.with_env(HOME=p.home, CLAUDE_CONFIG_DIR=f"{p.home}/other-claude")
    done = p.bawn("create", "--name", p.name, *SMALL, "--hide", "*.key",
                  "--quota", "8M,300", "-v", f"{p.other}:/root/other:ro", "shell",
                  p.project, f"{p.project}/vendor:ro", p.single,
                  timeout=START_SECONDS)
    p.said = done.err
    yield p
    session.rm(p.name)


def refused(bawn, name, script):
    done = bawn.raw("exec", "-u", "root", name, "sh", "-c", script)
    assert done.code != 0, done
    return done.err


def test_the_workspace_is_at_the_same_path_both_ways(place):
    bawn, name = place.bawn, place.name
    assert bawn.exec(name, "pwd").out == f"{place.project}\n"
    assert bawn("run", name, "--", "pwd").out == f"{place.project}\n"
    assert bawn.exec(name, "cat", "seen").out == "from the host\n"
    assert bawn.exec(name, "stat", "-c", "%U", "seen").out == "agent\n"
    bawn.exec(name, "sh", "-c", "mkdir new && echo inside > new/file")
    assert read(f"{place.project}/new/file") == "inside\n"
    for user in ("agent", "root"):
        bawn.exec("-u", user, name, "touch", f"by-{user}")
        assert os.stat(f"{place.project}/by-{user}").st_uid == os.getuid()
    put(f"{place.project}/new/late", "later\n")
    assert bawn.exec(name, "cat", "new/late").out == "later\n"
    assert bawn.exec(name, "ls", os.path.dirname(place.project)).out.split("\n")[0]


def test_a_single_file_is_written_through(place):
    place.bawn.sh(place.name, f"echo inside >> {place.single}")
    assert read(place.single) == "single\ninside\n"


def test_a_single_file_is_followed_when_the_host_replaces_it(place):
    bawn, name = place.bawn, place.name
    put(f"{place.single}.new", "replaced\n")
    os.rename(f"{place.single}.new", place.single)
    wait(lambda: bawn.exec(name, "cat", place.single).out == "replaced\n", 20, "it is seen")
    bawn.sh(name, f"echo inside >> {place.single}")
    assert read(place.single) == "replaced\ninside\n"
    # inside its name stays, as that of any file that is mounted
    for command in (f"rm {place.single}", f"echo x > /root/x; mv /root/x {place.single}"):
        done = bawn.raw("exec", "-u", "root", name, "sh", "-c", command)
        assert done.code == 1 and "busy" in done.err, done
    assert read(place.single) == "replaced\ninside\n"


def test_read_only_is_the_hosts_word(place):
    """W4: a guest's root may remount or unmount what it likes."""
    bawn, name = place.bawn, place.name
    vendor = f"'{place.project}/vendor'"
    # the guest's own /root, on the way, is open to agent
    assert bawn.exec(name, "cat", "/root/other/file", "vendor/lib", "vendor/lib2").out == \
        "other\ntheirs\ntheirs\n"
    for folder in ("/root/other", vendor):
        refused(bawn, name, f"touch {folder}/new")
        bawn.raw("exec", "-u", "root", name, "sh", "-c",
                 f"mount -o remount,rw {folder}")
        refused(bawn, name, f"touch {folder}/new")
        refused(bawn, name, f"echo x > {folder}/*i*")
    # beneath it the writable workspace would show the same folder
    bawn.sh(name, f"umount {vendor}")
    refused(bawn, name, f"touch {vendor}/new")
    refused(bawn, name, f"echo x > {vendor}/lib")
    refused(bawn, name, f"mv {vendor} '{place.project}/moved'")
    assert sorted(os.listdir(f"{place.project}/vendor")) == ["lib", "lib2"]
    assert read(f"{place.project}/vendor/lib") == "theirs\n"
    assert sorted(os.listdir(place.other)) == ["env", "file", "user"]


def test_hidden_paths_are_absent(place):
    bawn, name = place.bawn, place.name
    listed = bawn.exec(name, "find", ".").out
    for hidden in (".env", "secret", "a.pem", "b.key", "private", "elsewhere"):
        assert f"/{hidden}\n" not in listed
    for path in (".env", "secret/x", "a.pem", "b.key", "deep/1/2/private", "elsewhere",
                 "/root/other/user", "seen-env", "/root/other/env"):
        refused(bawn, name, f"cat {path}")
        refused(bawn, name, f"echo x > {path}")
    assert read(f"{place.project}/.env") == "hidden"
    assert bawn.exec(name, "ls", "deep/1").out == "2\n"
    mounts = bawn.inspect(name)["mounts"]
    assert "/.env" in mounts[0]["hidden"] and "/secret/" in mounts[0]["hidden"]


def test_a_file_that_cannot_be_read_is_one_warning(place):
    lines = [line for line in place.said.splitlines() if "settings.local" in line]
    assert len(lines) == 1 and "JSON" in lines[0], place.said


def test_inspect_and_ls_show_the_folders(place):
    facts = place.bawn.inspect(place.name)
    assert [mount["host"] for mount in facts["mounts"]] == [
        place.project, f"{place.project}/vendor", place.single, place.other]
    assert [mount["read_only"] for mount in facts["mounts"]] == [
        False, True, False, True]
    assert facts["mounts"][3]["guest"] == "/root/other"
    assert facts["workspace_mode"] == "direct"
    assert facts["quota"] == {"bytes": 8 * MIB, "inodes": 300}
    assert place.project in place.bawn("ls").out


def used(folder):
    return sum(os.stat(f"{at}/{file}").st_blocks * 512
               for at, _, files in os.walk(folder) for file in files)


def test_a_quota_protects_the_host(place):
    """W7"""
    bawn, name = place.bawn, place.name
    done = bawn.raw("exec", name, "dd", "if=/dev/zero", "of=fill", "bs=65536",
                    "count=400", "conv=fsync")
    assert done.code != 0 and ("uota" in done.err or "space" in done.err), done
    assert used(place.project) < 9 * MIB
    bawn.exec(name, "rm", "-f", "fill")
    done = bawn.raw("exec", name, "sh", "-c",
                    "mkdir many; i=0; while [ $i -lt 400 ]; do : > many/$i || exit 1; "
                    "i=$((i+1)); done")
    assert done.code != 0, done
    assert len(os.listdir(f"{place.project}/many")) <= 300
    bawn.exec(name, "rm", "-rf", "many")
    bawn.exec(name, "sh", "-c", "echo again > new-again")


def test_a_folder_comes_and_goes_while_files_are_open(place, tmp_path):
    bawn, name = place.bawn, place.name
    put(f"{tmp_path}/late/file", "late\n")
    bawn("exec", "-d", name, "sh", "-c",
         "exec 3>ticks; while [ ! -e halt ]; do echo t >&3 || touch broken; sleep 0.1; "
         "done; echo end >&3")
    ticks = f"{place.project}/ticks"
    wait(lambda: os.path.exists(ticks) and os.stat(ticks).st_size, 20, "it writes")
    bawn("mount", name, f"{tmp_path}/late:/mnt/late:ro")
    assert bawn.exec(name, "cat", "/mnt/late/file").out == "late\n"
    refused(bawn, name, "touch /mnt/late/new")
    again = bawn.raw("mount", name, f"{tmp_path}/late")
    assert again.code == 1 and "already" in again.err
    before = os.stat(ticks).st_size
    wait(lambda: os.stat(ticks).st_size > before + 4, 20, "it still writes")
    bawn("umount", name, "/mnt/late")
    refused(bawn, name, "cat /mnt/late/file")
    assert bawn.exec(name, "cat", "seen").out == "from the host\n"
    bawn("mount", name, f"{tmp_path}/late")
    assert bawn.exec(name, "cat", f"{tmp_path}/late/file").out == "late\n"
    # one that the host removes takes nothing else along
    put(f"{tmp_path}/third/file", "third\n")
    os.rename(f"{tmp_path}/late", f"{tmp_path}/away")
    said = bawn("mount", name, f"{tmp_path}/third:/mnt/third").err
    assert "late: not there any more" in said, said
    assert bawn.exec(name, "cat", "/mnt/third/file", "seen").out == "third\nfrom the host\n"
    bawn("umount", name, "/mnt/third")
    bawn("umount", name, f"{tmp_path}/late")
    put(f"{place.project}/halt")
    wait(lambda: read(ticks).endswith("end\n"), 20, "it ends well")
    assert not os.path.exists(f"{place.project}/broken")
    gone = bawn.raw("umount", name, "/mnt/late")
    assert gone.code == 1 and "not shared" in gone.err
    stays = bawn.raw("umount", name, place.project)
    assert stays.code == 1 and "workspace" in stays.err


@pytest.mark.parametrize("given,why", [
    (["/"], "whole host"),
    (["--force", "/"], "own"),
    (["{home}"], "home folder"),
    (["--force", "{state}"], "bawn's own"),
    (["--force", "{state}/sandboxes"], "bawn's own"),
    (["./missing"], "no such folder"),
    (["/dev/null"], "neither a folder nor a file"),
    ([".", "-v", ".:/proc/x"], "own /proc"),
    ([".", "-v", "/tmp:relative"], "must be absolute"),
    ([".", "."], "already"),
])
def test_what_must_not_be_shared_is_refused_in_one_line(bawn, tmp_path, given, why):
    """W8"""
    home = bawn.with_env(HOME=str(tmp_path))
    words = [word.format(home=tmp_path, state=f"{bawn.home}/state") for word in given]
    done = home.raw("create", "--name", "refused", *SMALL, "shell", *words)
    assert done.code in (1, 2) and why in done.err and done.err.count("\n") == 1, done
    assert "refused" not in bawn.names()


@pytest.mark.parametrize("what, why", [
    ("{state}", "bawn's own"),
    ("{state}/sandboxes", "bawn's own"),
    ("/", "whole host"),
    ("{home}", "home folder"),
])
def test_a_second_mount_of_what_must_not_be_shared_is_refused(bawn, tmp_path, as_root, what, why):
    place = tmp_path / "above" / "mounted"
    place.mkdir(parents=True)
    home = tmp_path / "home"
    home.mkdir()
    script = 'mount --bind "$1" "$2" && exec "$3" create shell "$4"'
    what = what.format(state=f"{bawn.home}/state", home=home)
    for given in (place, place.parent)[:2 if "own" in why else 1]:
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", what, place, BAWN, given],
                              env={**bawn.env, "HOME": str(home)}, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 1 and why in done.stderr, done
        assert len(done.stderr.splitlines()) == 1


def test_the_current_folder_is_not_shared_when_it_is_home(bawn, tmp_path):
    home = bawn.with_env(HOME=str(tmp_path))
    done = home.raw("create", *SMALL, cwd=tmp_path)
    assert done.code == 1 and "--force" in done.err and "home" in done.err


def test_forced_home_has_no_folder_of_bawns_own(session, tmp_path, request):
    """The state, as XDG places it, lies in the home folder and stays unseen."""
    home = f"{tmp_path}/u"
    put(f"{home}/file", "at home\n")
    state = f"{home}/state"
    os.makedirs(state)
    cache = f"{session.home}/cache"
    data = f"{session.home}/data"
    bawn = session.with_env(HOME=home, BAWN_HOME=None, XDG_STATE_HOME=state,
                            XDG_CACHE_HOME=f"{home}/.cache",
                            XDG_DATA_HOME=f"{tmp_path}/data")
    os.makedirs(f"{home}/.cache")
    os.makedirs(f"{tmp_path}/data")
    for folder in (cache, data):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    os.symlink(cache, f"{home}/.cache/bawn")
    os.symlink(data, f"{tmp_path}/data/bawn")
    request.addfinalizer(lambda: bawn.rm("forced"))
    bawn("create", "--force", "--name", "forced", *SMALL, "shell", home, cwd=home,
         timeout=START_SECONDS)
    assert bawn.exec("forced", "cat", "file").out == "at home\n"
    assert os.path.isdir(f"{state}/bawn/sandboxes/forced")
    assert bawn.exec("forced", "ls", "state").out == ""
    assert os.path.isdir(f"{home}/.config/bawn")
    for path in ("state/bawn", ".config/bawn"):
        assert bawn.raw("exec", "forced", "ls", path).code != 0
        assert bawn.raw("exec", "-u", "root", "forced", "mkdir", path).code != 0
    # nor another in its place: the next command would believe it
    for path in ("state", ".config"):
        assert bawn.raw("exec", "-u", "root", "forced", "mv", path, "away").code != 0
    assert bawn.raw("exec", "forced", "rm", ".cache/bawn").code != 0
    assert os.readlink(f"{home}/.cache/bawn") == cache
    bawn("stop", "--power-off", "forced")


def test_the_list_of_a_stopped_sandbox_counts_at_its_start(place, tmp_path):
    bawn, name = place.bawn, place.name
    put(f"{tmp_path}/more/file", "more\n")
    bawn("stop", "--power-off", name)
    bawn("mount", name, f"{tmp_path}/more")
    put(f"{place.project}/.bawnignore", "/seen\n")
    assert bawn.exec(name, "cat", f"{tmp_path}/more/file",
                     timeout=START_SECONDS).out == "more\n"
    refused(bawn, name, "cat seen")
    assert bawn("run", name, "--", "pwd").out == f"{place.project}\n"
    # what was mounted later is no difference
    assert bawn("run", "--name", name, "shell", place.project,
                f"{place.project}/vendor:ro", place.single, "-v",
                f"{place.other}:/root/other:ro", "--", "true").code == 0
    other = bawn.raw("run", "--name", name, "shell", f"{tmp_path}/more", "--", "true")
    assert other.code == 125 and place.project in other.err and "more" in other.err


def test_a_bad_bawnignore_stops_the_start_with_its_line(bawn, tmp_path):
    put(f"{tmp_path}/p/.bawnignore", "fine\n" + "x" * 2000 + "\n")
    done = bawn.raw("create", "--name", "bad-ignore", *SMALL, "shell", f"{tmp_path}/p",
                    timeout=START_SECONDS)
    assert done.code == 1 and ".bawnignore" in done.err and "line 2" in done.err
