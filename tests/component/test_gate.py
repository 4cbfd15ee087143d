# SPDX-License-Identifier: Apache-2.0
"""The gate, case by case: tests/component/gate/*.toml, run by net_case.py"""
import glob
import os
import tomllib

import pytest

import net_case
import net_world

FOLDER = os.path.join(os.path.dirname(__file__), "gate")
# BAWN_GATE_ROW=E8: the cases of one row, for tools/mutate.sh.
ROW = os.environ.get("BAWN_GATE_ROW")
ROWS = [f"E{number}" for number in range(1, 23)]
LEAST = 3  # mechanisms for each row that is bawn-net's


def load(path):
    with open(path, "rb") as file:
        return tomllib.load(file)


CASES = {os.path.basename(path)[:-len(".toml")]: load(path)
         for path in sorted(glob.glob(f"{FOLDER}/*.toml"))}


@pytest.fixture(scope="module")
def world():
    if os.geteuid() != 0:
        pytest.skip("a network of its own needs root")
    if not os.path.exists(net_world.BINARY):
        pytest.skip(f"{net_world.BINARY} is not built")
    made = net_world.World()
    yield made
    made.stop()


@pytest.mark.parametrize("name", [name for name, case in CASES.items()
                                  if not ROW or ROW in case["row"].split()])
def test_case(world, tmp_path, name):
    os.chmod(tmp_path, 0o755)
    net_case.Case(world, tmp_path, CASES[name]).run()


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_several_mechanisms(row):
    found = [name for name, case in CASES.items() if row in case["row"].split()]
    assert len(found) >= LEAST, found
