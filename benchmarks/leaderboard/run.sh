#!/usr/bin/env bash
# Asks methods the same questions, in rounds, so that a table is balanced at any time.
#
#   run.sh OUT SET.jsonl…
#
# Each round asks one part of each set's questions, by all methods of all sweeps, into
# OUT/<set>/<round>/<method>. After an interruption, a restart continues: finished questions are
# not asked again. Settings and models come from citeproof.toml.
set -euo pipefail

out=$1
shift
limit=${LIMIT:-25}   # questions drawn from each set; a higher limit includes the same ones
rounds=${ROUNDS:-25} # parts in which they are asked
seed=${SEED:-19}     # for drawing the questions
sweeps=${SWEEPS:-cheap costly}
here=$(dirname "$(realpath "$0")")

for round in $(seq "${FIRST:-1}" "${LAST:-$rounds}"); do
    for data in "$@"; do
        for sweep in $sweeps; do
            # Exit status 1: a question ended in an error, and is asked again next time.
            citeproof eval --sweep "$here/$sweep.toml" --data "$data" \
                --limit "$limit" --seed "$seed" --shard "$round/$rounds" \
                --out "$out/$(basename "${data%.*}")/$round" --resume ${STORE:+--store "$STORE"} ||
                [ $? = 1 ]
        done
    done
done
