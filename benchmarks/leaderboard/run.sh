#!/usr/bin/env bash
# Asks methods the same questions, in rounds, so that a table made at any time is a balanced one.
#
#   run.sh OUT SET.jsonl…
#
# Each round asks one part of each set's questions, by all methods of all sweeps, into
# OUT/<set>/<round>/<method>. Killed, it goes on where it was: finished questions are not asked
# again. Settings and models are those of citeproof.toml, or of CITEPROOF_CONFIG.
set -euo pipefail

out=$1
shift
limit=${LIMIT:-25}   # questions of each set; drawn, so that more of them hold the same ones
rounds=${ROUNDS:-25} # parts that they are asked in
seed=${SEED:-19}     # draws them
sweeps=${SWEEPS:-cheap costly}
here=$(dirname "$(realpath "$0")")

for round in $(seq "${FIRST:-1}" "${LAST:-$rounds}"); do
    for data in "$@"; do
        for sweep in $sweeps; do
            # 1: a question ended in an error, and is asked again next time.
            citeproof eval --sweep "$here/$sweep.toml" --data "$data" \
                --limit "$limit" --seed "$seed" --shard "$round/$rounds" \
                --out "$out/$(basename "${data%.*}")/$round" --resume ${STORE:+--store "$STORE"} ||
                [ $? = 1 ]
        done
    done
done
