# SPDX-License-Identifier: Apache-2.0
"""The gate, case by case: tests/component/gate/*.toml, run by net_case.py"""
import glob
import os
import re
import tomllib

import pytest

import net_case

FOLDER = os.path.join(os.path.dirname(__file__), "gate")
ROWS = [f"E{number}" for number in range(1, 23)] + [f"C{number}" for number in range(1, 9)]
IN_DATA = ROWS[:18]  # these have that many files, the others files or tests
LEAST = 3  # mechanisms for each row that is bawn-net's


def load(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


CASES = {os.path.basename(path)[:-len(".toml")]: load(path)
         for path in sorted(glob.glob(f"{FOLDER}/*.toml"))}


@pytest.mark.parametrize("name", CASES)
def test_case(world, tmp_path, name):
    os.chmod(tmp_path, 0o755)
    net_case.Case(world, tmp_path, CASES[name]).run()


def in_python(row):
    """Tests of the files beside this one say which rows they are for."""
    found = []
    for path in glob.glob(os.path.join(os.path.dirname(__file__), "test_*.py")):
        with open(path, encoding="utf-8") as file:
            for name, rows in re.findall(r'^def (test_\w+)\(.*\n    """Row: ([CE0-9 ]+)\.',
                                         file.read(), re.M):
                if row in rows.split():
                    found.append(name)
    return found


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_several_mechanisms(row):
    found = [name for name, case in CASES.items() if row in case["row"].split()]
    found += [] if row in IN_DATA else in_python(row)
    assert len(found) >= LEAST, found
