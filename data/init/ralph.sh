#!/bin/sh
# ralph.sh [PROMPT] [N] [OPTIONS] [-- AGENT ARGS] - the loop of this folder
cd "$(dirname "$0")" && exec ralph "$@"
