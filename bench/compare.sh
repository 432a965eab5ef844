#!/usr/bin/env bash
# Sluice and other people's servers side by side on this machine, in one run, in turns: A B A B. Everything is started here on free ports of
# 127.0.0.1, below one temporary folder, and ends with the script.
#
#   bench/compare.sh [--check] [hydra] [hydra-tuned] [keycloak] [oidc-provider] [gateway]
#
# Without names: all. --check starts Sluice and each of the servers, has it do once what is measured, and stops it; gateways are not checked.
# ROUNDS (2), SECONDS_EACH (10), CONNECTIONS (64), WARM_UP (30 seconds, for a JVM), ALGORITHM (ES256), SCENARIOS and GATEWAYS say what and how
# much; RESULTS names a file that keeps every line. HYDRA_BIN names a program of Hydra, which is built otherwise. What the numbers mean is in
# docs/benchmarks.md.
set -euo pipefail

home_of() { # home_of <peer>
  case $1 in
    hydra | hydra-tuned) echo bench/peers/hydra ;;
    keycloak) echo bench/peers/keycloak ;;
    oidc-provider) echo bench/peers/node-oidc-provider ;;
    *) return 1 ;;
  esac
}

# What is not understood ends this before anything is made.
CHECK='' PEERS=() GATEWAY=''
for one in "$@"; do
  case $one in
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    --check) CHECK=yes ;;
    gateway) GATEWAY=yes ;;
    *) home_of "$one" >/dev/null || { echo "there is no server '$one': see --help" >&2; exit 2; }; PEERS+=("$one") ;;
  esac
done
[ -z "$CHECK" ] || [ -z "$GATEWAY" ] || { echo 'gateways are not checked: leave --check or gateway out' >&2; exit 2; }
if [ ${#PEERS[@]} -eq 0 ] && [ -z "$GATEWAY" ]; then PEERS=(hydra hydra-tuned keycloak oidc-provider) GATEWAY=yes; fi

[ -z "${HYDRA_BIN:-}" ] || HYDRA_BIN=$(realpath "$HYDRA_BIN")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export SECONDS_EACH=${SECONDS_EACH:-10} CONNECTIONS=${CONNECTIONS:-64} ALGORITHM=${ALGORITHM:-ES256}
readonly ROUNDS=${ROUNDS:-2} WARM_UP=${WARM_UP:-30}
readonly SCENARIOS=${SCENARIOS:-client-credentials-opaque client-credentials-jwt introspect userinfo refresh login login-password revoke get-client
  list-clients-1 list-clients-250 create-client}
readonly GATEWAYS=${GATEWAYS:-nginx sluice auth_request haproxy varnish}
source tests/load/machine.sh

declare -A SCRIPTS=() # the process of each start.sh
RESULTS=${RESULTS:-$FOLDER/results}

stop_peer() { # stop_peer <name>
  kill "${SCRIPTS[$1]}" 2>/dev/null && wait "${SCRIPTS[$1]}" || true
  unset "SCRIPTS[$1]"
}

end_all() {
  local name
  for name in "${!SCRIPTS[@]}"; do stop_peer "$name"; done
  clean_up
}
trap end_all EXIT
trap 'exit 1' INT TERM HUP

start_peer() { # start_peer <name>: what it tells is in $FOLDER/<name>.facts then
  local home facts=$FOLDER/$1.facts
  home=$(home_of "$1")
  POSTGRES=127.0.0.1:$PG_PORT "$home/start.sh" "$FOLDER" "$1" >"$facts" 2>"$FOLDER/$1.errors" &
  SCRIPTS[$1]=$!
  until grep -qs '^READY=' "$facts"; do
    kill -0 "${SCRIPTS[$1]}" 2>/dev/null || { cat "$FOLDER/$1.errors" >&2; return 1; }
    sleep 0.2
  done
}

fact() { sed -n "s/^$2=//p" "$FOLDER/$1.facts"; } # fact <peer> <name>

# Sluice as client.sh of Hydra takes it, whose API it has: the client is made through the admin port.
check_sluice() {
  local id=bench secret=a-secret-of-the-check-alone back=http://127.0.0.1:9/callback
  start_server
  curl -sS --fail-with-body -o /dev/null -H 'Content-Type: application/json' "http://127.0.0.1:$ADMIN_PORT/admin/clients" \
    -d "{\"client_id\": \"$id\", \"client_secret\": \"$secret\", \"redirect_uris\": [\"$back\"], \"response_types\": [\"code\"],
      \"grant_types\": [\"authorization_code\", \"refresh_token\", \"client_credentials\"], \"scope\": \"openid offline_access\",
      \"token_endpoint_auth_method\": \"client_secret_basic\", \"id_token_signed_response_alg\": \"$ALGORITHM\"}"
  printf '%s=%s\n' SYSTEM Sluice ISSUER "http://127.0.0.1:$PORT" ADMIN "http://127.0.0.1:$ADMIN_PORT" CLIENT_ID "$id" CLIENT_SECRET "$secret" \
    REDIRECT_URI "$back" USER_NAME bench ALGORITHM "$ALGORITHM" >"$FOLDER/sluice.facts"
  bench/peers/hydra/client.sh "$FOLDER/sluice.facts"
  stop_server
}

check() { # check <peer>
  local pid
  start_peer "$1"
  pid=$(fact "$1" PID)
  "$(home_of "$1")/client.sh" "$FOLDER/$1.facts"
  stop_peer "$1"
  ! kill -0 "$pid" 2>/dev/null || { echo "$1 does not end" >&2; return 1; }
}

# What a scenario is called for each system, and what else there is to say. Nothing: that system has no such thing.
arguments() { # arguments <system> <scenario>
  local token=opaque
  [ "$1" != keycloak ] || token=jwt # it has no others
  case $1/$2 in
    keycloak/client-credentials-opaque) ;;
    # It has no pages of its own.
    hydra*/login-password) ;;
    hydra*/login | hydra*/refresh) echo "$2" --id-token "$(fact "$1" ALGORITHM)" ;;
    # Beside Hydra alone: the administration of clients is its API.
    keycloak/revoke | keycloak/*-client* | oidc-provider/revoke | oidc-provider/*-client*) ;;
    */list-clients-*) echo list-clients --page "${2##*-}" ;;
    */get-client | */create-client) echo "$2" ;;
    */client-credentials-*) echo client-credentials --token "${2##*-}" ;;
    # What is accepted at once is no password.
    oidc-provider/login-password) ;;
    # Elsewhere both are its form; which hash there is, is the realm's. A refresh token comes without being asked for.
    keycloak/login* | oidc-provider/login) echo login --id-token "$ALGORITHM" --scope openid ;;
    */login* | */refresh) echo "$2" --id-token "$ALGORITHM" ;;
    *) echo "$2" --token "$token" ;;
  esac
}

where() { # where <system> <scenario>: one argument on each line
  case $1 in
    sluice)
      printf '%s\n' --public-url "http://127.0.0.1:$PORT" --admin-url "http://127.0.0.1:$ADMIN_PORT" --server-pid "$SERVER" \
        --database-pid "$POSTMASTER" --database-dsn "$DSN"
      return
      ;;
    hydra*)
      printf '%s\n' --public-url "$(fact "$1" ISSUER)" --admin-url "$(fact "$1" ADMIN)" --server-pid "$(fact "$1" PID)" \
        --database-pid "$POSTMASTER" --database-dsn "$(fact "$1" DSN)"
      return
      ;;
  esac
  local issuer client
  issuer=$(fact "$1" ISSUER) client=$(fact "$1" CLIENT_ID)
  case $1/$2 in
    oidc-provider/client-credentials-jwt) client+=-jwt ;;
    keycloak/login-password) ;;
    keycloak/*) issuer=$(fact "$1" ISSUER_NO_HASH) ;;
  esac
  printf '%s\n' --server standard --issuer "$issuer" --client-id "$client" --client-secret "$(fact "$1" CLIENT_SECRET)" \
    --redirect-uri "$(fact "$1" REDIRECT_URI)" --user "$(fact "$1" USER_NAME)" --password "$(fact "$1" PASSWORD)" --server-pid "$(fact "$1" PID)"
  case $1 in
    keycloak) printf '%s\n' --database-pid "$POSTMASTER" --database-dsn "$(fact "$1" DSN)" ;;
    oidc-provider) printf '%s\n' --no-database ;; # all is in memory
  esac
}

bench() { # bench <system> <scenario> <connections> <warm-up>: one object
  local said at
  read -ra said <<<"$(arguments "$1" "$2")"
  mapfile -t at < <(where "$1" "$2")
  "$PROGRAM" bench "${said[@]}" "${at[@]}" -c "$3" --warm-up "$4" --duration "${SECONDS_EACH}s" --json 2>>"$FOLDER/bench.log"
}

measure() { # measure <scenario> <connections> <system…>
  local scenario=$1 connections=$2 round system warm_up result
  shift 2
  for round in $(seq "$ROUNDS"); do
    for system in "$@"; do
      warm_up=2s
      [ "$system/$round" != keycloak/1 ] || warm_up=${WARM_UP}s # Java compiles what is used
      # A run in which operations failed ends with 1, too: the table says how many.
      result=$(bench "$system" "$scenario" "$connections" "$warm_up") || { result=${result:-null}; tail -n 3 "$FOLDER/bench.log" >&2; }
      printf '%s\t%s\t%s\t%s\n' "$scenario" "$connections" "$system" "$(tr -d '\n' <<<"$result")" >>"$RESULTS"
    done
  done
}

compare_servers() { # compare_servers <peer…>
  local scenario connections system systems
  start_server
  for system in "$@"; do start_peer "$system"; done
  for scenario in $SCENARIOS; do
    systems=()
    for system in sluice "$@"; do [ -z "$(arguments "$system" "$scenario")" ] || systems+=("$system"); done
    [ ${#systems[@]} -gt 1 ] || continue # nobody to compare with
    # More would wait for hashes.
    [ "$scenario" != login-password ] || { measure "$scenario" 16 "${systems[@]}"; continue; }
    for connections in $CONNECTIONS; do measure "$scenario" "$connections" "${systems[@]}"; done
  done
  for system in "$@"; do
    echo "$system: $(fact "$system" SYSTEM)"
    stop_peer "$system"
  done
  stop_server
}

compare_gateways() {
  local round
  for round in $(seq "$ROUNDS"); do
    tests/load/gateway.sh $GATEWAYS | sed 's/^/gateway\t/' >>"$RESULTS"
  done
}

if [ ${#PEERS[@]} -gt 0 ]; then
  # A server whose connections to the database are all taken by users of the load may wait for one more.
  export POOL=$(($(tr ' ' '\n' <<<"$CONNECTIONS" | sort -n | tail -n 1) + 16))
  PG_OPTIONS="-c max_connections=$((2 * POOL + 150))" start_postgres
fi
if [ -n "$CHECK" ]; then
  check_sluice
  for peer in "${PEERS[@]}"; do check "$peer"; done
  exit
fi
: >>"$RESULTS"
if [ ${#PEERS[@]} -gt 0 ]; then
  describe_machine
  compare_servers "${PEERS[@]}"
fi
[ -z "$GATEWAY" ] || compare_gateways
node bench/table.js "$RESULTS"
