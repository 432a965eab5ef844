#!/usr/bin/env bash
# Keycloak on a free port, in a database that is empty or has not been made. Prints what the driver has to know, `READY=yes` last, and stays
# until it is ended.
#
#   POSTGRES=127.0.0.1:5432 bench/peers/keycloak/start.sh FOLDER
#
# POSTGRES has a user `sluice` who needs no password and may make databases. ALGORITHM (ES256) signs all tokens. There are two realms
# with the same client and person: in that of ISSUER the password is hashed as Keycloak does it, in that of ISSUER_NO_HASH with one round of PBKDF2.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../common.sh

export CLIENT_ID REDIRECT_URI USER_NAME ALGORITHM=${ALGORITHM:-ES256} CLIENT_SECRET PASSWORD
CLIENT_SECRET=$(random) PASSWORD=$(random) PORT=$(free_port)
readonly FOLDER=$1 LOG=$1/keycloak.log DATABASE=keycloak_$PORT ADMIN_PASSWORD=$(random)
VERSION=$(sed -n 's/.*<keycloak.version>\(.*\)<.*/\1/p' pom.xml)
HOME_OF_KEYCLOAK=$CACHE/keycloak/keycloak-$VERSION

# One node: no cluster to look for. What is built is kept for the next run.
install() {
  [ ! -e "$HOME_OF_KEYCLOAK/.built" ] || return 0
  mvn --quiet --batch-mode dependency:unpack
  chmod +x "$HOME_OF_KEYCLOAK"/bin/*.sh
  "$HOME_OF_KEYCLOAK/bin/kc.sh" build --db=postgres
  touch "$HOME_OF_KEYCLOAK/.built"
}

make_realm() { # make_realm <name> shipped|none
  local token
  token=$(curl -fsS "$BASE/realms/master/protocol/openid-connect/token" -d grant_type=password -d client_id=admin-cli -d username=bench-admin \
    -d "password=$ADMIN_PASSWORD" | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')
  ./realm.py "$@" | curl -sS --fail-with-body -o /dev/null -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d @- "$BASE/admin/realms"
}

install >"$LOG" 2>&1 || { tail -n 15 "$LOG" >&2; exit 1; }
psql -q -h "${POSTGRES%:*}" -p "${POSTGRES#*:}" -U sluice -d postgres -c "CREATE DATABASE $DATABASE" >>"$LOG"

BASE=http://127.0.0.1:$PORT
KC_BOOTSTRAP_ADMIN_USERNAME=bench-admin KC_BOOTSTRAP_ADMIN_PASSWORD=$ADMIN_PASSWORD KC_DB_USERNAME=sluice KC_DB_PASSWORD=none \
  "$HOME_OF_KEYCLOAK/bin/kc.sh" start --optimized --cache=local --http-enabled=true --hostname-strict=false --http-host=127.0.0.1 --http-port="$PORT" \
  --db-url="jdbc:postgresql://$POSTGRES/$DATABASE" >>"$LOG" 2>&1 &
PID=$!
trap 'kill "$PID" 2>/dev/null; wait "$PID" || true' EXIT
trap 'exit 0' TERM INT
wait_for "$PID" "$BASE/realms/master/.well-known/openid-configuration" "$LOG" 300
make_realm bench shipped
make_realm bench-no-hash none
# The script waits for Java, whose time is what counts.
tell "$BASE/realms/bench" "$(cat "/proc/$PID/task/$PID/children" | tr -d ' ')" \
  "Keycloak $VERSION, Java $(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$(dirname "$(readlink -f "$(command -v java)")")/../release")" \
  DSN "postgres://sluice@$POSTGRES/$DATABASE?sslmode=disable" ISSUER_NO_HASH "$BASE/realms/bench-no-hash"
wait "$PID"
