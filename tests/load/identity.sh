#!/usr/bin/env bash
# Measures the identity service, everything on this machine: server, PostgreSQL and load generator.
#
#   tests/load/identity.sh [registration] [pace=RATE] [hardening] [login] [import]
#
# SECONDS_EACH (10) and CONNECTIONS ("64 256 500") say how long and how many; IMPORT_LINES (100000) how many people are
# imported, ROUNDS (1) how often registration is measured: of more than one the medians are told. SLUICE_BIN and EXAMPLES name
# what was built. What the numbers mean is in docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/load/machine.sh
readonly ROUNDS=${ROUNDS:-1}

# Ten characters of the hash differ from person to person; nobody logs in with them.
readonly BCRYPT='$2b$10$N9qo8uLOickgx2ZMRZoMye'
readonly ROWS='SELECT (SELECT count(*) FROM identity) + (SELECT count(*) FROM login_name)'

# One row of the table: so many connections, one share of repeated addresses.
register() { # register <label> <connections> <repeats in a hundred>
  local label=$1 connections=$2 repeats=$3 url="http://127.0.0.1:$PORT" floor
  local output people rows statements commits wal server postgres hardened rate p50 p99
  floor=$(floor "$connections")
  RUN=$((RUN + 1))
  run_wrk "$connections" 2 register.lua "$url" "warm$RUN" "$repeats" >/dev/null
  sql sluice 'SELECT pg_stat_statements_reset()' >/dev/null
  sleep 1
  people=$(sql sluice 'SELECT count(*) FROM identity')
  rows=$(sql sluice "$ROWS")
  hardened=$(hardened_so_far)
  wal=$(sql sluice "SELECT pg_current_wal_insert_lsn()")
  server=$(ticks "$SERVER") postgres=$(postgres_ticks)
  output=$(run_wrk "$connections" "$SECONDS_EACH" register.lua "$url" "run$RUN" "$repeats")
  server=$(($(ticks "$SERVER") - server)) postgres=$(($(postgres_ticks) - postgres))
  wal=$(sql sluice "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$wal')")
  hardened=$(($(hardened_so_far) - hardened))
  statements=$(sql sluice 'SELECT sum(calls) FROM pg_stat_statements')
  commits=$(sql sluice "SELECT sum(calls) FROM pg_stat_statements WHERE query ~ 'INSERT|UPDATE|DELETE'")
  rows=$(($(sql sluice "$ROWS") - rows))
  people=$(($(sql sluice 'SELECT count(*) FROM identity') - people))
  local seconds both
  seconds=$(number seconds "$output")
  both=$(micros $((server + postgres)) "$people")
  server=$(micros "$server" "$people") postgres=$(micros "$postgres" "$people")
  rate=$(divided "$people" "$seconds" %.0f) p50=$(number p50_ms "$output") p99=$(number p99_ms "$output")
  printf '%-22s %4d  %7.0f/s  p50 %6.2f ms  p99 %7.2f ms  server %5.1f µs  postgres %5.1f µs  floor %4.1f µs  = %s floors\n' \
    "$label" "$connections" "$rate" "$p50" "$p99" "$server" "$postgres" "$floor" "$(divided "$both" "$floor")"
  remember "$label" "$connections" "rate /s=$rate" "p50 ms=$p50" "p99 ms=$p99" "server µs=$server" "postgres µs=$postgres" \
    "floor µs=$floor" "floors=$(divided "$both" "$floor")"
  printf '%22s per registration: %s statements, %s of them write and commit, %s rows, %s B WAL; refused %s, broken %s; %s hardened/s\n' '' \
    "$(divided "$statements" "$people" %.4f)" "$(divided "$commits" "$people" %.4f)" "$(divided "$rows" "$people" %.2f)" \
    "$(divided "$wal" "$people" %.0f)" "$(number refused "$output")" "$(number broken "$output")" \
    "$(divided "$hardened" "$seconds" %.1f)"
}

hardened_so_far() {
  curl -fsS "http://127.0.0.1:$ADMIN_PORT/admin/metrics/prometheus" |
    awk '/^sluice_hardening_total\{outcome="hardened"\}/ { printf "%d", $2 }'
}

measure_registration() {
  local round
  for round in $(seq "$ROUNDS"); do
    [ "$ROUNDS" -eq 1 ] || echo "round $round of $ROUNDS"
    measure_registration_once
  done
  [ "$ROUNDS" -eq 1 ] || medians
}

measure_registration_once() {
  local connections
  start_server identity.hardening.enabled=false
  for connections in $CONNECTIONS; do register 'hardening off' "$connections" 0; done
  register 'off, 5 % duplicates' 256 5
  stop_server
  # What the runs before left behind is hardened during these.
  start_server
  for connections in $CONNECTIONS; do register 'hardening on' "$connections" 0; done
  stop_server
}

# An open loop at a share of what the closed one reached.
measure_pace() { # measure_pace <requests a second>
  start_server identity.hardening.enabled=false
  local body='{"email":"paced-{n}@pace'$RUN'.example","username":"Paced","password":"pass phrase {n}"}'
  "$EXAMPLES/paced" "127.0.0.1:$PORT" 1000 2 64 /auth/register application/json "${body/paced-/warm-}" >/dev/null
  echo "open loop, $1 registrations/s for $SECONDS_EACH s over 256 connections:" \
    "$("$EXAMPLES/paced" "127.0.0.1:$PORT" "$1" "$SECONDS_EACH" 256 /auth/register application/json "$body")"
  stop_server
}

raw_rate() {
  "$PROGRAM" calibrate --format json 2>/dev/null |
    python3 -c 'import json, sys; print(next(one["hashes_per_second"] for one in json.load(sys.stdin)["measured"] if one["memory"] == 65536))'
}

fill() { # fill <name> <seconds>: registers people for hardening and logins
  start_server identity.hardening.enabled=false
  run_wrk 64 "$2" register.lua "http://127.0.0.1:$PORT" "$1" >/dev/null
  stop_server
}

measure_hardening() {
  [ -n "${RAW:-}" ] || RAW=$(raw_rate)
  fill harden 3
  start_server
  sleep 3
  local before after server
  before=$(hardened_so_far) server=$(ticks "$SERVER")
  sleep "$((SECONDS_EACH * 2))"
  after=$(hardened_so_far) server=$(($(ticks "$SERVER") - server))
  local rate
  rate=$(divided $((after - before)) $((SECONDS_EACH * 2)))
  echo "raw Argon2id (64 MiB, 1 pass, 4 lanes), all cores: $RAW/s; hardening: $rate/s," \
    "$(divided "$rate" "$RAW") of raw, $(micros "$server" $((after - before))) µs of CPU each"
  stop_server
}

measure_login() {
  [ -n "${RAW:-}" ] || RAW=$(raw_rate)
  fill login 3
  start_server identity.hardening.enabled=false
  local url="http://127.0.0.1:$PORT" output client
  run_wrk 16 2 login.lua "$url" login 10000 >/dev/null
  output=$(run_wrk 16 "$((SECONDS_EACH * 2))" login.lua "$url" login 10000)
  echo "password logins: $(divided "$(number requests "$output")" "$(number seconds "$output")")/s of $RAW/s raw;" \
    "p50 $(number p50_ms "$output") ms, p99 $(number p99_ms "$output") ms, refused $(number refused "$output")"
  client=$(curl -fsS "http://127.0.0.1:$ADMIN_PORT/admin/clients" -H 'content-type: application/json' \
    -d '{"grant_types":["client_credentials"],"token_endpoint_auth_method":"client_secret_post","scope":"read"}' |
    python3 -c 'import json, sys; c = json.load(sys.stdin); print(c["client_id"], c["client_secret"])')
  local token
  token=$(curl -fsS "$url/oauth2/token" -d grant_type=client_credentials -d "client_id=${client% *}" \
    -d "client_secret=${client#* }" | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')
  introspect "$token" 'alone'
  run_wrk 16 "$((SECONDS_EACH + 3))" login.lua "$url" login 10000 >"$FOLDER/logins" &
  local logins=$!
  sleep 1.5
  introspect "$token" 'beside logins'
  wait "$logins"
  output=$(cat "$FOLDER/logins")
  echo "  logins meanwhile: $(divided "$(number requests "$output")" "$(number seconds "$output")")/s"
  stop_server
}

introspect() { # introspect <token> <label>
  echo "2,000 introspections/s, open loop, $2:" \
    "$("$EXAMPLES/paced" "127.0.0.1:$ADMIN_PORT" 2000 "$SECONDS_EACH" 64 /admin/oauth2/introspect \
      application/x-www-form-urlencoded "token=$1")"
}

measure_import() {
  local lines=${IMPORT_LINES:-100000} file="$FOLDER/people.ndjson" began ended peak=0 now importer
  awk -v lines="$lines" -v bcrypt="$BCRYPT" 'BEGIN {
    for (n = 0; n < lines; n++)
      printf "{\"email\":\"imported-%08d@import.example\",\"username\":\"Imported %d\",\"password_hash\":\"%s%010d92ldGxad68LJZdL17lhWy\"}\n", n, n, bcrypt, n
  }' >"$file"
  local before after
  "$PROGRAM" migrate sql up --dev --data-dir "$FOLDER" --set "dsn=$DSN" >/dev/null 2>&1 || true
  before=$(postgres_ticks)
  began=$(date +%s.%N)
  "$PROGRAM" import identities "$file" --dev --data-dir "$FOLDER" --dsn "$DSN" >"$FOLDER/import.out" 2>&1 &
  importer=$!
  while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$importer/status" 2>/dev/null) && [ -n "$now" ]; do
    peak=$now
    sleep 0.05
  done
  wait "$importer" || { tail -n 5 "$FOLDER/import.out" >&2; return 1; }
  ended=$(date +%s.%N)
  after=$(postgres_ticks)
  local took
  took=$(awk -v began="$began" -v ended="$ended" 'BEGIN { printf "%.1f", ended - began }')
  echo "import of $lines people with bcrypt hashes: $took s ($(divided "$lines" "$took" %.0f)/s)," \
    "peak resident memory $((peak / 1024)) MiB, PostgreSQL $(micros $((after - before)) "$lines") µs each"
  sql sluice "SELECT count(*) || ' imported' FROM identity WHERE email LIKE 'imported-%'"
}

start_postgres
describe_machine
start_floor
for part in "${@:-registration hardening login import}"; do
  for one in $part; do
    case $one in
      registration) measure_registration ;;
      pace=*) measure_pace "${one#pace=}" ;;
      hardening) measure_hardening ;;
      login) measure_login ;;
      import) measure_import ;;
      *) echo "there is no part $one" >&2; exit 2 ;;
    esac
  done
done
