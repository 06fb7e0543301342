#!/bin/sh
# Makes the three peers of compose.yaml, each with a third of an embedded data set in a volume of its
# own, and lets them join each other. After that, `docker compose up` computes an AUC over all rows.
#   ./three-clinics.sh                              with Docker
#   COMPOSE=podman-compose ./three-clinics.sh       with Podman
# To begin again: docker compose down --volumes, which deletes the peers.
# At real clinics everybody does this for one peer, and invitations are handed over by people.
set -eu
cd "$(dirname "$0")"
compose=${COMPOSE:-docker compose}

# make CLINIC NUMBER: prints the invitation. What runs inside has the volume as its folder.
make() {
    $compose run --rm -T --entrypoint sh "$1" -euc '
        pairgossip dataset breast-cancer-wisconsin |
            awk -v part="$2" "NR == 1 || NR % 3 == part" > data.csv
        cat > auc.toml
        pairgossip peer init --name "$1" --data data.csv --spec auc.toml --yes > id.txt
        pairgossip peer invite --address "tls/$1:7447"' sh "$1" "$2" < auc.toml |
        grep pairgossip-invitation  # an engine may print what it has made as well
}

join() {
    $compose run --rm -T "$@" < /dev/null
}

a=$(make clinic-a 0)
b=$(make clinic-b 1)
c=$(make clinic-c 2)
join clinic-a peer join "$b" "$c"
join clinic-b peer join "$a" "$c"
join clinic-c peer join "$a" "$b"
echo "Next: $compose up --detach; $compose exec clinic-a pairgossip peer status" >&2
