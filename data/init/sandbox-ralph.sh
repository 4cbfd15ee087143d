#!/bin/sh
# sandbox-ralph.sh [DIR] [N] [AGENT] - a loop in a sandbox, deny by default
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-.}
count=${2:-30}
agent=${3:-claude}
case $dir in
*/* | .*) ;;
*) dir=./$dir ;;
esac
name=$(bawn loop --print-name "$agent" "$dir")
bawn inspect "$name" >/dev/null 2>&1 ||
	bawn create --name "$name" "$agent" "$dir" >/dev/null
"$here/network-policy.sh" "$name"
echo "watch it:  bawn loop --status $agent $dir"
echo "tell it:   bawn loop --add-context 'TEXT' $agent $dir"
echo "look in:   bawn exec -it $name bash"
exec bawn loop -n "$count" "$agent" "$dir"
