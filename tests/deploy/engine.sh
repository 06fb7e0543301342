#!/bin/sh
# A little of a container engine, for tests on Linux as root: engine.sh run [OPTIONS] CLINIC WORDS.
# What is run can write to the clinic's volume and nowhere else, as a user without a name or any rights.
# VOLUMES, PROGRAMS, HOSTS and ENTRY name the folder of volumes, that of pairgossip, what clinics are
# called, and entry.sh.
set -eu
if [ "$1" = run ]; then
    exec unshare --mount "$0" inside "$@"
fi

shift 2
entry=$ENTRY
while :; do
    case $1 in
        --rm | -T) shift ;;
        --entrypoint) entry=$2; shift 2 ;;
        *) break ;;
    esac
done
clinic=$1
shift

volume=$VOLUMES/$clinic
mount --make-rprivate /
mount --bind "$HOSTS" /etc/hosts
mount --bind "$volume" "$volume"
# The last first: a folder below another is then read-only before it.
cut -d ' ' -f 5 /proc/self/mountinfo | sort -r | while read -r place; do
    [ "$place" = "$volume" ] || mount -o remount,bind,ro "$place" 2> /dev/null || true
done
cd "$volume"
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all \
    env -i PATH="$PROGRAMS:/usr/bin:/bin" PYTHONPATH="$PYTHONPATH" PYTHONDONTWRITEBYTECODE=1 \
    HOME="$volume" PAIRGOSSIP_HOME="$volume/peer" \
    PAIRGOSSIP_LISTEN="tls/$clinic:7447" PAIRGOSSIP_METRICS="$clinic:9464" "$entry" "$@"
