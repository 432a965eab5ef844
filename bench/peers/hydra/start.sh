#!/usr/bin/env bash
# Ory Hydra on a free port, in a database that has not been made. Prints what the driver has to know, `READY=yes` last, and stays until it
# is ended.
#
#   POSTGRES=127.0.0.1:5432 bench/peers/hydra/start.sh FOLDER [hydra|hydra-tuned]
#
# POSTGRES has a user `sluice` who needs no password and may make databases. `hydra` is as it is shipped, with RSA keys of 4096 bits and
# PBKDF2 with 25,000 rounds for the secrets of clients; `hydra-tuned` has keys for ES256, and one round. POOL (80) is how many connections to
# PostgreSQL each has. It must be more than there are users: whoever gets tokens holds one, and waits for a second to read the key with; with
# two for each core, as shipped, all are taken by those who wait, and nobody is answered.
# HYDRA_BIN names a program; otherwise it is built from the module that the tests pin.
set -euo pipefail
[ -z "${HYDRA_BIN:-}" ] || HYDRA_BIN=$(realpath "$HYDRA_BIN")
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../common.sh

readonly FOLDER=$1 NAME=${2:-hydra} PINNED=$PEERS/../../tests/hydra/server
readonly LOG=$FOLDER/$NAME.log
CLIENT_SECRET=$(random) PASSWORD=none PORT=$(free_port) ADMIN_PORT=$(free_port)
readonly DATABASE=hydra_$PORT ISSUER=http://127.0.0.1:$PORT ADMIN=http://127.0.0.1:$ADMIN_PORT
PLACE=postgres://sluice@$POSTGRES/$DATABASE?sslmode=disable POOL=${POOL:-80}
PROGRAM=${HYDRA_BIN:-$CACHE/hydra}

# What a program that is named says of itself. One that was built without a version says nothing of use: then it is its path.
version() {
  local said
  if [ -z "${HYDRA_BIN:-}" ]; then
    sed -n 's,^.*github.com/ory/hydra/v2 \(v[0-9.]*\)\( .*\)\?$,\1,p' "$PINNED/go.mod"
    return
  fi
  said=$("$PROGRAM" version 2>/dev/null | sed -n 's/^Version: *\(v[0-9].*\)$/\1/p') || true
  echo "${said:-$PROGRAM}"
}

build() {
  [ -z "${HYDRA_BIN:-}" ] || return 0
  [ ! "$PROGRAM" -nt "$PINNED/go.sum" ] || return 0
  mkdir -p "$CACHE"
  (cd "$PINNED" && go build -tags sqlite,json1 -o "$PROGRAM" github.com/ory/hydra/v2)
}

# A program that fails says why, and then all its options: the end of its log alone would be those.
migrate() {
  local said=$FOLDER/$NAME.migration
  "$PROGRAM" migrate sql -e --yes >"$said" 2>&1 && cat "$said" >>"$LOG" && return
  echo "$PROGRAM migrate sql failed:" >&2
  grep -aEi 'error|fatal|panic|unable|could not' "$said" >&2 || tail -n 15 "$said" >&2
  return 1
}

admin() { # admin <method> <path> <JSON>
  curl -sS --fail-with-body -o /dev/null -X "$1" -H 'Content-Type: application/json' -d "$3" "$ADMIN$2"
}

# The newest key of a set signs.
sign_with() { # sign_with <algorithm>
  local set
  for set in hydra.openid.id-token hydra.jwt.access-token; do
    admin POST "/admin/keys/$set" "{\"alg\": \"$1\", \"use\": \"sig\", \"kid\": \"bench-$set\"}"
  done
}

make_client() {
  admin POST /admin/clients "{\"client_id\": \"$CLIENT_ID\", \"client_secret\": \"$CLIENT_SECRET\", \"redirect_uris\": [\"$REDIRECT_URI\"],
    \"grant_types\": [\"authorization_code\", \"refresh_token\", \"client_credentials\"], \"response_types\": [\"code\"],
    \"scope\": \"openid offline_access\", \"token_endpoint_auth_method\": \"client_secret_basic\"}"
}

build >"$LOG" 2>&1 || { tail -n 15 "$LOG" >&2; exit 1; }
psql -q -h "${POSTGRES%:*}" -p "${POSTGRES#*:}" -U sluice -d postgres -c "CREATE DATABASE $DATABASE" >>"$LOG"

ALGORITHM=RS256
if [ "$NAME" = hydra-tuned ]; then
  ALGORITHM=ES256
  export OAUTH2_HASHERS_PBKDF2_ITERATIONS=1
fi
export DSN="$PLACE&max_conns=$POOL&max_idle_conns=$POOL" SQA_OPT_OUT=true URLS_SELF_ISSUER=$ISSUER SECRETS_SYSTEM
SECRETS_SYSTEM=$(random)
# Nothing listens there: who drives it plays the application for logins.
export URLS_LOGIN=http://127.0.0.1:9/login URLS_CONSENT=http://127.0.0.1:9/consent
export SERVE_PUBLIC_HOST=127.0.0.1 SERVE_PUBLIC_PORT=$PORT SERVE_ADMIN_HOST=127.0.0.1 SERVE_ADMIN_PORT=$ADMIN_PORT
migrate
# Development mode, as Sluice has it here: there is no TLS.
"$PROGRAM" serve all --dev >>"$LOG" 2>&1 &
PID=$!
trap 'kill "$PID" 2>/dev/null; wait "$PID" || true' EXIT
trap 'exit 0' TERM INT
wait_for "$PID" "$ADMIN/health/ready" "$LOG" 60
[ "$ALGORITHM" = RS256 ] || sign_with "$ALGORITHM"
make_client
tell "$ISSUER" "$PID" "Hydra $(version)${NAME#hydra}" ADMIN "$ADMIN" DSN "$PLACE"
wait "$PID"
