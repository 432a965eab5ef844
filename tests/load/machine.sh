# What the measurements share: a private PostgreSQL, a server of the release build, the floor, and what they cost. To be
# sourced. Everything is started here, below one temporary folder, and ends with the script.

readonly SECONDS_EACH=${SECONDS_EACH:-10}
readonly CONNECTIONS=${CONNECTIONS:-64 256 500}
readonly WRK_THREADS=2
readonly PROGRAM=${SLUICE_BIN:-${CARGO_TARGET_DIR:-target}/release/sluice}
readonly EXAMPLES=${EXAMPLES:-${CARGO_TARGET_DIR:-target}/release/examples}
readonly TICK=$(getconf CLK_TCK)

FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/sluice-load.XXXXXX")
SERVER='' FLOOR=''
RUN=0

clean_up() {
  [ -z "$FLOOR" ] || kill "$FLOOR" 2>/dev/null || true
  [ -z "$SERVER" ] || { kill "$SERVER" 2>/dev/null && wait "$SERVER"; } || true
  [ ! -e "$FOLDER/data" ] || as_postgres "$PG_BIN/pg_ctl" -D "$FOLDER/data" -m immediate stop >/dev/null 2>&1 || true
  [ -n "${KEEP:-}" ] || rm -rf "$FOLDER"
}
trap clean_up EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

as_postgres() { if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

# PostgreSQL as it is shipped, with fsync, synchronous_commit and full_page_writes on, and its own account of statements. PG_OPTIONS says more.
start_postgres() {
  PG_BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  PG_BIN=${PG_BIN:-$(pg_config --bindir)}
  PG_PORT=$(free_port)
  chmod 711 "$FOLDER"
  mkdir "$FOLDER/data" && { [ "$(id -u)" -ne 0 ] || chown postgres "$FOLDER/data"; }
  as_postgres "$PG_BIN/initdb" -D "$FOLDER/data" -U sluice -A trust -E UTF8 --no-locale >"$FOLDER/initdb.log"
  local options="-p $PG_PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$FOLDER/data ${PG_OPTIONS:-}"
  options+=" -c fsync=on -c synchronous_commit=on -c full_page_writes=on"
  [ -n "${NO_STATEMENTS:-}" ] || options+=" -c shared_preload_libraries=pg_stat_statements"
  as_postgres "$PG_BIN/pg_ctl" -D "$FOLDER/data" -l "$FOLDER/data/log" -w -o "$options" start >/dev/null
  POSTMASTER=$(head -n 1 "$FOLDER/data/postmaster.pid")
  sql postgres 'CREATE DATABASE sluice' >/dev/null
  sql sluice 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements' >/dev/null
  DSN="postgres://sluice@127.0.0.1:$PG_PORT/sluice?sslmode=disable"
}

sql() { # sql <database> <statement>
  "$PG_BIN/psql" -h 127.0.0.1 -p "$PG_PORT" -U sluice -d "$1" -v ON_ERROR_STOP=1 -qAtc "$2"
}

# The server with the settings it is shipped with: request log and audit to a file, metrics on. Development mode only because
# there is no TLS here. DATA_DIR is another folder for one that runs beside the first.
start_server() { # start_server [key=value…]
  PORT=$(free_port) ADMIN_PORT=$(free_port)
  local set=() pair
  for pair in "dsn=$DSN" "serve.public.host=127.0.0.1" "serve.public.port=$PORT" "serve.admin.host=127.0.0.1" \
    "serve.admin.port=$ADMIN_PORT" "urls.self.issuer=http://127.0.0.1:$PORT/" "$@"; do
    set+=(--set "$pair")
  done
  "$PROGRAM" serve all --dev --auto-migrate --data-dir "${DATA_DIR:-$FOLDER}" "${set[@]}" 2>>"$FOLDER/server.log" >/dev/null &
  SERVER=$!
  local try
  for try in $(seq 150); do
    ! curl -fsS -o /dev/null "http://127.0.0.1:$ADMIN_PORT/health/ready" 2>/dev/null || return 0
    kill -0 "$SERVER" 2>/dev/null || { tail -n 5 "$FOLDER/server.log" >&2; exit 1; }
    sleep 0.2
  done
  echo "the server does not become ready in $((try / 5)) s" >&2
  exit 1
}

stop_server() {
  kill "$SERVER" && wait "$SERVER" || true
  SERVER=''
}

start_floor() {
  FLOOR_PORT=$(free_port)
  "$PROGRAM" bench floor --port "$FLOOR_PORT" &
  FLOOR=$!
  sleep 0.3
}

# Ticks of user and system time: of one process; of PostgreSQL with its children, those that have ended too.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
postgres_ticks() {
  local pid total
  total=$(sed 's/.*) //' "/proc/$POSTMASTER/stat" | awk '{ print $12 + $13 + $14 + $15 }')
  for pid in $(cat "/proc/$POSTMASTER/task/$POSTMASTER/children"); do
    total=$((total + $(ticks "$pid" 2>/dev/null || echo 0)))
  done
  echo "$total"
}

# One number of an output of wrk.
number() { # number <name> <output>
  sed -n "s/^wrk .*\b$1=\([0-9.]*\).*/\1/p" <<<"$2"
}

micros() { # micros <ticks> <operations>
  awk -v ticks="$1" -v tick="$TICK" -v operations="$2" 'BEGIN { printf "%.1f", ticks / tick * 1e6 / operations }'
}

divided() { awk -v one="$1" -v other="$2" -v format="${3:-%.2f}" 'BEGIN { printf format, other ? one / other : 0 }'; }

run_wrk() { # run_wrk <connections> <seconds> <script> <url> [argument…]
  local connections=$1 seconds=$2 script=$3 url=$4
  shift 4
  wrk -t "$WRK_THREADS" -c "$connections" -d "${seconds}s" --timeout 10s -s "tests/load/$script" "$url" -- "$@"
}

# The CPU of one bare request at so many connections, in µs.
floor() { # floor <connections>
  local before after output
  run_wrk "$1" 1 get.lua "http://127.0.0.1:$FLOOR_PORT/" >/dev/null
  before=$(ticks "$FLOOR")
  output=$(run_wrk "$1" "${FLOOR_SECONDS:-5}" get.lua "http://127.0.0.1:$FLOOR_PORT/")
  after=$(ticks "$FLOOR")
  micros $((after - before)) "$(number requests "$output")"
}

# A row of a round, for `medians`.
remember() { # remember <label> <connections> <name=figure>…
  local IFS=$'\t'
  printf '%s\n' "$*" >>"$FOLDER/rows"
}

# Medians of all rows since the last time.
medians() {
  python3 tests/load/medians.py "$FOLDER/rows"
  rm "$FOLDER/rows"
}

describe_machine() {
  echo "machine: $(nproc) × $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(uname -sr)"
  echo "PostgreSQL: $("$PG_BIN/postgres" --version | cut -d' ' -f3)," \
    "$(sql sluice "SELECT string_agg(name || '=' || setting, ', ') FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers')")"
  echo "server: $("$PROGRAM" version 2>/dev/null | head -n 1)"
}
