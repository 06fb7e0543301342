#!/bin/sh
# What a container runs: pairgossip with the words given.
#
# An engine starts a container again whatever code it has ended with, unless that is 0. Code 3 of
# `peer run` says that this identity cannot go on (evicted, or a restored backup): starting it again
# does not help, and a restored peer could do harm each time. So the container then stays, unhealthy
# and without a peer, until somebody looks and stops it.
[ "$*" = "peer run" ] || exec pairgossip "$@"

pairgossip peer run &
peer=$!
trap 'kill -TERM "$peer" 2> /dev/null' TERM INT
while :; do
    wait "$peer"
    code=$?
    # A signal ends the waiting too; the peer then goes on until it has stopped in good order.
    kill -0 "$peer" 2> /dev/null || break
done
[ "$code" = 3 ] || exit "$code"

echo "The peer has ended with code 3 and is not started again: see above, then stop this container." >&2
trap 'kill "$!" 2> /dev/null; exit 3' TERM INT
while :; do
    sleep 86400 &
    wait "$!"
done
