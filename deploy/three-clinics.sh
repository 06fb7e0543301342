#!/bin/sh
# Makes the three members of compose.yaml, each with a third of an embedded data set in a volume of its
# own, and lets them join each other. After `docker compose up` they are a study, of which anybody asks.
#   ./three-clinics.sh                              with Docker
#   COMPOSE=podman-compose ./three-clinics.sh       with Podman
# To begin again: docker compose down --volumes, which deletes the peers.
# At real clinics everybody does this for one peer, and invitations are handed over by people.
set -eu
cd "$(dirname "$0")"
compose=${COMPOSE:-docker compose}

# make CLINIC NUMBER: prints the invitation. What runs inside has the volume as its folder.
# These rows are public, and three members are too few for blocks of rows: --least-cell 1 counts cells.
make() {
    $compose run --rm -T --entrypoint sh "$1" -euc '
        pairgossip dataset breast-cancer-wisconsin |
            awk -v part="$2" "NR == 1 || NR % 3 == part" > data.csv
        cat > auc.toml
        pairgossip peer init --name "$1" --source data.csv --least-cell 1 --yes > id.txt
        pairgossip peer invite --address "tls/$1:7447"' sh "$1" "$2" < auc.toml |
        grep pairgossip-study-invitation  # an engine may print what it has made as well
}

join() {
    $compose run --rm -T "$@" --yes < /dev/null
}

a=$(make clinic-a 0)
b=$(make clinic-b 1)
c=$(make clinic-c 2)
join clinic-a peer join "$b" "$c"
join clinic-b peer join "$a" "$c"
join clinic-c peer join "$a" "$b"
echo "Next: $compose up --detach; $compose exec clinic-a pairgossip peer ask auc.toml" >&2
