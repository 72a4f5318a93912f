#!/bin/sh
# What annals does, asked with curl alone: create, list, watch, snapshot, difference; and that a state cannot be changed.
#
#     annals up                                        # prints its address, and where its data is
#     ./tour.sh https://127.0.0.1:6443 DIRECTORY       # DIRECTORY has ca.crt, admin.crt and admin.key
set -eu
server=$1 directory=$2
annals=$server/apis/annals.dev/v1/namespaces/default
work=$(mktemp -d)
watcher=
trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || :; rm -rf "$work"' EXIT

type=application/json # of what is sent
in_background=        # then curl itself is the process that can be killed
ask() { # METHOD URL [more of curl's arguments]
	method=$1 url=$2
	shift 2
	${in_background:+exec} curl --silent --show-error --fail-with-body --globoff \
		--cacert "$directory/ca.crt" --cert "$directory/admin.crt" --key "$directory/admin.key" \
		--header "Content-Type: $type" --request "$method" "$@" "$url"
}

step() {
	printf '\n== %s\n' "$*"
}

# The lines of an answer that have one of these members. Programs read JSON; for shells there is jq.
show() { # MEMBER...
	grep -E "^ *\"($(echo "$*" | tr ' ' '|'))\":"
}

# Whose history it is: any object, also one that another API server has. Here it is one that nobody else has.
uid=$(cat /proc/sys/kernel/random/uuid)
owner='{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true, "uid": "'$uid'"}'
history="fieldSelector=controller.uid=$uid"

step "list, and watch from there on, in the background"
version=$(ask GET "$annals/controllerrevisions?$history" | sed -n 's/^ *"resourceVersion": "\(.*\)".*/\1/p' | head -1)
in_background=yes ask GET "$annals/controllerrevisions?watch=true&resourceVersion=$version&$history" --no-buffer >"$work/events" &
watcher=$!

step "keep three states, of which the third is the first again"
for image in nginx:1 nginx:2 nginx:1; do
	ask POST "$annals/snapshots" --data "{\"spec\": {\"owner\": $owner, \"data\": {\"image\": \"$image\"}}}" >"$work/snapshot"
	show result revision image <"$work/snapshot"
	# The name of the revision is that of the owner, and a digest of the state.
	sed -n 's/.*"name": "\(web-[^"]*\)".*/\1/p' "$work/snapshot" >>"$work/names"
done
first=$(sed -n 1p "$work/names") second=$(sed -n 2p "$work/names")
[ "$first" = "$(sed -n 3p "$work/names")" ] # the same state is the same revision

step "list them"
ask GET "$annals/controllerrevisions?$history" | show revision image

step "what changes from the second to the first, as a JSON Patch"
ask GET "$annals/controllerrevisions/$first/diff?from=$second"
echo

step "a state cannot be changed"
type=application/merge-patch+json
if ask PATCH "$annals/controllerrevisions/$first" --data '{"data": {"image": "nginx:3"}}' >"$work/refused" 2>&1; then
	echo "it was changed" >&2
	exit 1
fi
type=application/json
grep '^  "message"' "$work/refused"

step "create a revision by hand, and delete it"
ask POST "$annals/controllerrevisions" --data '{"metadata": {"name": "by-hand"}, "revision": 1, "data": {"image": "nginx:9"}}' | show name image
ask DELETE "$annals/controllerrevisions/by-hand" | show status

step "what the watch has shown: two came, and the first was numbered anew"
tries=300
until [ "$(grep -c . "$work/events")" -ge 3 ]; do
	[ $((tries -= 1)) -gt 0 ]
	sleep 0.1
done
sed 's/^{"type":"\([A-Z]*\)".*"name":"\(web-[^"]*\)".*/\1 \2/' "$work/events"
