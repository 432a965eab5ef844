#!/usr/bin/env bash
# npm's oidc-provider on a free port: one process, as it is meant to be started, everything in memory. Prints what the driver has to
# know, `READY=yes` last, and stays until it is ended.
#
#   bench/peers/node-oidc-provider/start.sh FOLDER
#
# ALGORITHM (ES256) signs id tokens, and the access tokens of the second client, CLIENT_ID-jwt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../common.sh

readonly FOLDER=$1 ALGORITHM=${ALGORITHM:-ES256}
CLIENT_SECRET=$(random) PASSWORD=none PORT=$(free_port)
LOG=$FOLDER/oidc-provider.log

# Its own Node: the package wants a newer one than distributions have.
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --no-fund --no-audit --no-progress >"$LOG" 2>&1 || { tail -n 15 "$LOG" >&2; exit 1; }
  cp package-lock.json node_modules/.installed
fi

export CLIENT_ID CLIENT_SECRET REDIRECT_URI USER_NAME ALGORITHM
NODE_ENV=production node_modules/.bin/node server.js "$PORT" >>"$LOG" 2>&1 &
PID=$!
trap 'kill "$PID" 2>/dev/null; wait "$PID" || true' EXIT
trap 'exit 0' TERM INT
wait_for "$PID" "http://127.0.0.1:$PORT/.well-known/openid-configuration" "$LOG" 30
tell "http://127.0.0.1:$PORT" "$PID" "oidc-provider $(sed -n 's/^ *"oidc-provider": "\(.*\)".*/\1/p' package.json), Node $(node_modules/.bin/node --version)"
wait "$PID"
