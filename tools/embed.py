#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py - files as C strings: embed.py HEADER NAME FILE [NAME FILE]..."""
import sys


def main():
    header, rest = sys.argv[1], sys.argv[2:]
    with open(header, "w", encoding="ascii") as out:
        for name, path in zip(rest[::2], rest[1::2]):
            with open(path, "rb") as file:
                numbers = ",".join(str(byte) for byte in file.read())
            out.write(f"static const char {name}[] = {{{numbers},0}};\n")


if __name__ == "__main__":
    main()
