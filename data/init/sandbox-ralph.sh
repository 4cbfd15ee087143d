#!/bin/sh
# sandbox-ralph.sh [DIR] [N] [AGENT] - a loop in a sandbox, deny by default
#
# Builds the template of .sandbox/Dockerfile once, and again when something in
# .sandbox/ has changed; makes the sandbox; lets network-policy.sh close its
# network; runs at most N iterations (30) of AGENT (claude) in DIR. The prompt
# is DIR/.agent/PROMPT.md. SANDBOX_OPTIONS are further words for `bawn create`,
# such as "-m 8G --cpus 4".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-.}
count=${2:-30}
agent=${3:-claude}
[ "$agent" != claude-code ] || agent=claude
case $dir in
*/* | .*) ;;
*) dir=./$dir ;;
esac

# As `bawn init` wrote it, it would be the agent's own template again.
template=
if grep -Eiv '^[[:space:]]*(#|USER[[:space:]]|FROM docker/sandbox-templates:claude-code[[:space:]]*$|$)' \
	"$here/Dockerfile" >/dev/null; then
	file=$(mktemp)
	trap 'rm -f "$file"' EXIT
	# what it stands on has the agent that was asked for
	case $agent in
	claude) tag=claude-code ;;
	*) tag=$agent ;;
	esac
	sed "s,^\(FROM docker/sandbox-templates\):claude-code,\1:$tag," \
		"$here/Dockerfile" >"$file"
	sum=$({
		cat "$file"
		cd "$here" && find . -type f ! -name '*.sh' -exec sha256sum {} + | sort
	} | sha256sum | cut -c 1-12)
	template=sandbox-ralph:$sum
	if bawn template inspect "$template" >/dev/null 2>&1; then
		echo "template:  $template"
	else
		echo "template:  $template is built from $here/Dockerfile"
		bawn template build -t "$template" -f "$file" "$here"
	fi
	rm -f "$file"
	trap - EXIT
fi

name=$(bawn loop --print-name "$agent" "$dir")
if made=$(bawn inspect "$name" 2>/dev/null); then
	case $made in
	*"\"${template:-"$agent"}\""*) ;;
	*) echo "note:      $name was made from another template (bawn rm $name)" ;;
	esac
else
	# shellcheck disable=SC2086 # they are words
	bawn create --name "$name" ${template:+-t "$template"} ${SANDBOX_OPTIONS:-} \
		"$agent" "$dir" >/dev/null
	bawn stop "$name" >/dev/null # so that the loop starts it, and stops it at its end
fi
"$here/network-policy.sh" "$name"
echo "watch it:  bawn loop --status $agent $dir"
echo "its hosts: bawn policy log -f $name"
echo "tell it:   bawn loop --add-context 'TEXT' $agent $dir"
echo "look in:   bawn exec -it $name bash"
exec bawn loop -n "$count" "$agent" "$dir"
