#!/usr/bin/env bash
# Measures how long a revoked token passes at gateways: two servers with a gateway each and a gateway by itself that has a link to the second; tokens are
# revoked at the first. Once on PostgreSQL, where servers are told by LISTEN and NOTIFY, and once on SQLite, where they look.
#
#   tests/load/revocation.sh
#
# ROUNDS (300) says how many tokens; RATE (1000) how many logins a second there are at the first server in the second half of the runs on
# PostgreSQL, 0 for a run without them. POSTGRES_P99_MS and SQLITE_P99_MS, if they are set, are in how many milliseconds each gateway must refuse
# 99 of 100 tokens: it fails otherwise. SLUICE_BIN names what was built. What the numbers mean is in docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/load/machine.sh

readonly ROUNDS=${ROUNDS:-300} RATE=${RATE:-1000}
STARTED=() BACKEND=''
end_all() {
  local pid
  for pid in "${STARTED[@]}" $BACKEND; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
  STARTED=()
}
trap 'end_all; clean_up' EXIT

start_backend() {
  APP=$(free_port)
  node -e 'require("http").createServer((_, answer) => answer.end("ok")).listen(process.argv[1], "127.0.0.1")' "$APP" &
  BACKEND=$!
  cat >"$FOLDER/routes.yaml" <<YAML
upstreams:
  app: {servers: ["http://127.0.0.1:$APP"]}
routes:
  - {name: orders, match: {prefix: /orders}, upstream: app, scopes: [orders.read]}
YAML
}

# A server with a gateway and a link; what it listens on is in PORTS[<name>.public], .admin, .gateway and .link.
declare -A PORTS=()
start_node() { # start_node <name> <dsn>
  local name=$1 port set=()
  for port in public admin gateway decisions link; do
    PORTS[$name.$port]=$(free_port)
    set+=(--set "serve.$port.host=127.0.0.1" --set "serve.$port.port=${PORTS[$name.$port]}")
  done
  set+=(--set "dsn=$2" --set "gateway.routes=$FOLDER/routes.yaml" --set "urls.self.issuer=http://127.0.0.1:${PORTS[one.public]}/")
  SERVE_LINK_TOKEN=$LINK_TOKEN \
    "$PROGRAM" serve all --dev --auto-migrate --data-dir "$FOLDER" "${set[@]}" 2>>"$FOLDER/$name.log" >/dev/null &
  STARTED+=($!)
  ready "${PORTS[$name.admin]}" "$name"
}

start_gateway() { # start_gateway <name> <port of a link>
  local name=$1 port set=()
  for port in admin gateway decisions; do
    PORTS[$name.$port]=$(free_port)
    set+=(--set "serve.$port.host=127.0.0.1" --set "serve.$port.port=${PORTS[$name.$port]}")
  done
  GATEWAY_LINK_TOKEN=$LINK_TOKEN "$PROGRAM" serve gateway --dev "${set[@]}" --set "gateway.routes=$FOLDER/routes.yaml" \
    --set "gateway.link.url=http://127.0.0.1:$2" 2>>"$FOLDER/$name.log" >/dev/null &
  STARTED+=($!)
  ready "${PORTS[$name.admin]}" "$name"
}

ready() { # ready <admin port> <name>
  local try
  for try in $(seq 150); do
    ! curl -fsS -o /dev/null "http://127.0.0.1:$1/health/ready" 2>/dev/null || return 0
    sleep 0.2
  done
  echo "$2 does not become ready in $((try / 5)) s" >&2
  tail -n 5 "$FOLDER/$2.log" >&2
  exit 1
}

revoke() { # revoke <permitted p99>: none if that is empty
  P99_MS=${1:-Infinity} node tests/load/revocation/revoke.js "http://127.0.0.1:${PORTS[one.public]}/" "http://127.0.0.1:${PORTS[one.admin]}" "$ROUNDS" \
    "the same server=http://127.0.0.1:${PORTS[one.gateway]}/orders" "another server=http://127.0.0.1:${PORTS[two.gateway]}/orders" \
    "by itself, linked to the other=http://127.0.0.1:${PORTS[alone.gateway]}/orders"
}

site() { # site <dsn>
  start_node one "$1"
  start_node two "$1"
  start_gateway alone "${PORTS[two.link]}"
}

# Revokes while people log in.
revoke_under_load() {
  echo "PostgreSQL, $RATE logins/s at the first server meanwhile"
  "$PROGRAM" bench login --public-url "http://127.0.0.1:${PORTS[one.public]}" --admin-url "http://127.0.0.1:${PORTS[one.admin]}" --no-database \
    --rate "$RATE" -c 256 --duration 1h --no-floor --json >/dev/null 2>>"$FOLDER/bench.log" &
  local bench=$!
  STARTED+=("$bench")
  sleep 3
  revoke "${POSTGRES_P99_MS:-}"
  kill -0 "$bench" || { echo 'the load ended before' >&2; exit 1; }
}

LINK_TOKEN=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')
start_postgres
describe_machine
start_backend
site "$DSN"
echo 'PostgreSQL, nothing else going on'
revoke "${POSTGRES_P99_MS:-}"
[ "$RATE" -eq 0 ] || revoke_under_load
end_all
start_backend
site "sqlite:$FOLDER/sluice.db"
echo 'SQLite, two processes with one file, nothing else going on'
revoke "${SQLITE_P99_MS:-}"
