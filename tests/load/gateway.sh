#!/usr/bin/env bash
# Measures gateways that do one job (check a token, tell the application who calls, pass the request on), one after the other on this machine, the
# load generator and the backend beside them. CPU is user and system time of each program per request.
#
#   tests/load/gateway.sh [nginx] [auth_request] [haproxy] [varnish] [caddy] [traefik] [envoy] [sluice] [distinct=TOKENS] [markers=MARKERS] [turns=ROUNDS] [knee=ROUNDS] [validation] [blocking]
#
# SECONDS_EACH (10) and CONNECTIONS ("64 256") say how long and how many, MARKER_ROUNDS (5) how often servers with and without markers take
# turns. NGINX_LOG says how nginx writes its log: gathered (lines of 10 ms share a write, as Sluice's do), or each (a write for each line, as
# nginx does by itself). SLUICE_BIN and EXAMPLES name what was built; Traefik and Envoy are those of `make gateway`. What the numbers mean is in docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CONNECTIONS=${CONNECTIONS:-64 256}
readonly NGINX_LOG=${NGINX_LOG:-gathered} MARKER_ROUNDS=${MARKER_ROUNDS:-5} PROXIES=$PWD/.cache/gateway-venv/bin
case $NGINX_LOG in
  each | gathered) ;;
  *) echo "NGINX_LOG is each or gathered, not $NGINX_LOG" >&2; exit 2 ;;
esac
source tests/load/machine.sh

BACKEND='' PROXY='' OTHER=''
end_proxies() {
  [ -z "$OTHER" ] || { kill "$OTHER" 2>/dev/null && wait "$OTHER"; } 2>/dev/null || true
  [ -z "$PROXY" ] || { kill "$PROXY" 2>/dev/null && wait "$PROXY"; } 2>/dev/null || true
  [ -z "$BACKEND" ] || { kill "$BACKEND" 2>/dev/null && wait "$BACKEND"; } 2>/dev/null || true
  PROXY='' BACKEND='' OTHER=''
}
trap 'end_proxies; clean_up' EXIT

# Ticks of a process and all below it.
tree_ticks() {
  local pid child total
  total=$(ticks "$1" 2>/dev/null || echo 0)
  for pid in /proc/"$1"/task/*/children; do
    for child in $(cat "$pid" 2>/dev/null); do total=$((total + $(tree_ticks "$child"))); done
  done
  echo "$total"
}

answers() { # answers <port>: once something listens there
  local try
  for try in $(seq 100); do
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 0
    sleep 0.1
  done
  echo "nothing listens on port $1" >&2
  tail -n 5 "$FOLDER/proxy.log" "$FOLDER/backend.log" >&2
  exit 1
}

# How nginx writes an access log.
access_log() { # access_log <name>
  local log="$FOLDER/$1.access.log combined"
  [ "$NGINX_LOG" = each ] || log+=' buffer=64k flush=10ms'
  echo "$log"
}

nginx_with() { # nginx_with <file with servers> <access log>: its main file
  sed -e "s#@FOLDER@#$FOLDER#; s#@SERVER@#$1#; s#@LOG@#$2#" tests/load/gateway/nginx.conf
  [ "$(id -u)" -ne 0 ] || echo 'user root;'
}

start_backend() {
  APP=$(free_port)
  echo "server { listen 127.0.0.1:$APP reuseport; location / { default_type text/plain; return 200 'a small answer'; } }" >"$FOLDER/backend.inc"
  nginx_with backend.inc off >"$FOLDER/backend.conf"
  nginx -p "$FOLDER" -c "$FOLDER/backend.conf" -e stderr 2>>"$FOLDER/backend.log" &
  BACKEND=$!
  answers "$APP"
}

# A shipped file with the ports of this run.
shipped() { sed -e "s/\b8000\b/$LISTEN/; s/\b4456\b/$DECISIONS/g; s/\b8080\b/$APP/; s/0\.0\.0\.0:/127.0.0.1:/" "$1"; }

start_proxy() { # start_proxy <command…>: as $PROXY, on $LISTEN
  "$@" >>"$FOLDER/proxy.log" 2>&1 &
  PROXY=$!
  answers "$LISTEN"
}

stop_proxy() {
  kill "$PROXY" && wait "$PROXY" || true
  PROXY=''
  LISTEN=$(free_port)
}

# One row for each number of connections. What is counted: `<name>=<process>…`.
measure() { # measure <label> <url> <file of tokens> <name=pid>…
  local label=$1 url=$2 tokens=$3 connections output requests rate p50 p99 cpu counted figures one
  shift 3
  for connections in $CONNECTIONS; do
    run_wrk "$connections" 2 bearer.lua "$url" $tokens >/dev/null
    local -A before=()
    for one in "$@"; do before[$one]=$(tree_ticks "${one#*=}"); done
    output=$(run_wrk "$connections" "$SECONDS_EACH" bearer.lua "$url" $tokens)
    requests=$(number requests "$output") counted=''
    rate=$(divided "$requests" "$(number seconds "$output")" %.0f) p50=$(number p50_ms "$output") p99=$(number p99_ms "$output")
    figures=("rate /s=$rate" "p50 ms=$p50" "p99 ms=$p99")
    for one in "$@"; do
      cpu=$(micros $(($(tree_ticks "${one#*=}") - before[$one])) "$requests")
      counted+="  ${one%%=*} $cpu µs" figures+=("${one%%=*} µs=$cpu")
    done
    printf '%-36s %4d  %8.0f/s  p50 %6.2f ms  p99 %7.2f ms  refused %s, broken %s %s\n' "$label" "$connections" \
      "$rate" "$p50" "$p99" "$(number refused "$output")" "$(number broken "$output")" "$counted"
    remember "$label" "$connections" "${figures[@]}"
  done
}

start_sluice() { # start_sluice [folder]: for its data and its tokens
  local folder=${1:-$FOLDER} kind
  GATEWAY=$(free_port) DECISIONS=$(free_port) LISTEN=$(free_port)
  cat >"$folder/routes.yaml" <<YAML
upstreams:
  app: {servers: ["http://127.0.0.1:$APP"]}
routes:
  - {name: orders, match: {prefix: /orders}, upstream: app, scopes: [orders.read]}
  - {name: open, match: {prefix: /open}, upstream: app, auth: none}
YAML
  DSN="sqlite:$folder/sluice.db"
  DATA_DIR=$folder start_server "gateway.routes=$folder/routes.yaml" "gateway.access_log=$folder/access.log" serve.gateway.host=127.0.0.1 \
    "serve.gateway.port=$GATEWAY" "serve.decisions.port=$DECISIONS"
  for kind in opaque jwt; do
    node tests/load/gateway/tokens.js sluice "http://127.0.0.1:$PORT/" "http://127.0.0.1:$ADMIN_PORT" 1 "$kind" >"$folder/$kind.token"
  done
}

start_plain_nginx() {
  printf 'upstream app { server 127.0.0.1:%s; keepalive 256; keepalive_requests 1000000000; }\nserver { listen 127.0.0.1:%s reuseport; location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://app; } }\n' \
    "$APP" "$LISTEN" >"$FOLDER/plain.inc"
  nginx_with plain.inc "$(access_log plain)" | sed "s#nginx.pid#plain.pid#" >"$FOLDER/plain.conf"
  start_proxy nginx -p "$FOLDER" -c "$FOLDER/plain.conf" -e stderr
}

measure_nginx() {
  start_plain_nginx
  measure 'nginx proxy_pass, no token' "http://127.0.0.1:$LISTEN/orders" '' "nginx=$PROXY" "backend=$BACKEND"
  measure 'nginx proxy_pass, a token, no check' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "nginx=$PROXY" "backend=$BACKEND"
  stop_proxy
}

measure_auth_request() {
  shipped deploy/nginx/sluice.conf | sed "s/listen $LISTEN;/listen 127.0.0.1:$LISTEN reuseport;/; s/keepalive 64;/keepalive 256; keepalive_requests 1000000000;/" >"$FOLDER/auth.inc"
  nginx_with auth.inc "$(access_log auth)" | sed "s#nginx.pid#auth.pid#" >"$FOLDER/auth.conf"
  start_proxy nginx -p "$FOLDER" -c "$FOLDER/auth.conf" -e stderr
  measure 'nginx auth_request' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "nginx=$PROXY" "sluice=$SERVER"
  stop_proxy
}

measure_haproxy() {
  local name key
  node tests/load/gateway/tokens.js foreign "$FOLDER"
  for name in hs256 rs256 es256; do
    key="$FOLDER/$name.pem"
    [ "$name" != hs256 ] || key=$(cat "$FOLDER/hs256.secret")
    shipped tests/load/gateway/haproxy-jwt.cfg | sed "s#@KEY@#$key#; s#@ALG@#${name^^}#" >"$FOLDER/$name.cfg"
    start_proxy haproxy -db -f "$FOLDER/$name.cfg"
    measure "HAProxy jwt_verify ${name^^}" "http://127.0.0.1:$LISTEN/orders" "$FOLDER/$name.token" "haproxy=$PROXY"
    stop_proxy
  done
  shipped deploy/haproxy/haproxy.cfg | sed "s#/etc/haproxy/#$PWD/deploy/haproxy/#" >"$FOLDER/lua.cfg"
  start_proxy haproxy -db -f "$FOLDER/lua.cfg"
  measure 'HAProxy asks Sluice (Lua)' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "haproxy=$PROXY" "sluice=$SERVER"
  stop_proxy
}

varnish_with() { # varnish_with <file> <argument…>
  local file=$1
  shift
  start_proxy varnishd -F -n "$FOLDER/varnish" -j none -a "127.0.0.1:$LISTEN" -s malloc,64m -f "$file" "$@"
}

measure_varnish() {
  local url="http://127.0.0.1"
  shipped deploy/varnish/sluice.vcl >"$FOLDER/restarts.vcl"
  # The shipped file remembers nothing: the first of the two lines is how long a yes is remembered.
  awk '/set beresp.ttl = 0s;/ && !done { sub("0s", "10s"); done = 1 } { print }' "$FOLDER/restarts.vcl" >"$FOLDER/cached.vcl"
  varnish_with "$FOLDER/restarts.vcl"
  measure 'Varnish restarts, asked each time' "$url:$LISTEN/orders" "$FOLDER/opaque.token" "varnish=$PROXY" "sluice=$SERVER"
  stop_proxy
  varnish_with "$FOLDER/cached.vcl"
  measure 'Varnish restarts, verdict cached' "$url:$LISTEN/orders" "$FOLDER/opaque.token" "varnish=$PROXY" "sluice=$SERVER"
  stop_proxy
  varnish_with "$PWD/tests/load/gateway/synthetic.vcl"
  measure 'Varnish, synthetic answer only' "$url:$LISTEN/orders" '' "varnish=$PROXY"
  stop_proxy
}

# The shipped file, but for its question.
blocking() {
  shipped deploy/varnish/sluice.vcl | awk -v waits=tests/load/gateway/blocking.vcl '
    /^import std;/ { print; print "\nC{\n#include <unistd.h>\n}C"; next }
    /^        return \(hash\);/ { while ((getline line <waits) > 0) print line; ++replaced; next }
    { print }
    END { if (replaced != 1) { print "the question is not found in deploy/varnish/sluice.vcl" >"/dev/stderr"; exit 1 } }'
}

measure_blocking() {
  blocking >"$FOLDER/blocking.vcl"
  varnish_with "$FOLDER/blocking.vcl" -p vcc_allow_inline_c=on
  measure 'Varnish, worker waits 15 ms' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "varnish=$PROXY"
  stop_proxy
}

measure_caddy() {
  { printf '{\n\tadmin off\n}\n\n' && shipped deploy/caddy/Caddyfile; } >"$FOLDER/Caddyfile"
  start_proxy env "XDG_DATA_HOME=$FOLDER" "XDG_CONFIG_HOME=$FOLDER" caddy run --config "$FOLDER/Caddyfile" --adapter caddyfile
  measure 'Caddy asks Sluice' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "caddy=$PROXY" "sluice=$SERVER"
  stop_proxy
}

measure_traefik() {
  local inner
  inner=$(free_port)
  shipped deploy/traefik/dynamic.yml | sed "s/\b8099\b/$inner/" >"$FOLDER/dynamic.yml"
  shipped deploy/traefik/traefik.yml | sed "s/\b8099\b/$inner/; s#/etc/traefik/#$FOLDER/#" >"$FOLDER/traefik.yml"
  start_proxy "$PROXIES/traefik" "--configFile=$FOLDER/traefik.yml"
  sleep 2 # it listens before it knows its routes
  measure 'Traefik asks Sluice' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "traefik=$PROXY" "sluice=$SERVER"
  stop_proxy
}

envoy_with() { # envoy_with <file>
  start_proxy "$PROXIES/envoy" -c "$1" --disable-hot-restart --concurrency "$(nproc)" --log-level warning
}

measure_envoy() {
  local file
  for file in envoy envoy-http; do
    shipped "deploy/envoy/$file.yaml" >"$FOLDER/$file.yaml"
    envoy_with "$FOLDER/$file.yaml"
    measure "Envoy asks Sluice ($file.yaml)" "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "envoy=$PROXY" "sluice=$SERVER"
    stop_proxy
  done
  node tests/load/gateway/tokens.js foreign "$FOLDER"
  for file in rs256 es256; do
    shipped tests/load/gateway/envoy-jwt.yaml | sed "s#@JWKS@#$FOLDER/$file.jwks#" >"$FOLDER/jwt.yaml"
    envoy_with "$FOLDER/jwt.yaml"
    measure "Envoy jwt_authn ${file^^}" "http://127.0.0.1:$LISTEN/orders" "$FOLDER/$file.token" "envoy=$PROXY"
    stop_proxy
  done
}

measure_sluice() {
  local url="http://127.0.0.1:$GATEWAY"
  measure 'Sluice, no token, no check' "$url/open" '' "sluice=$SERVER" "backend=$BACKEND"
  measure 'Sluice, a token, no check' "$url/open" "$FOLDER/opaque.token" "sluice=$SERVER" "backend=$BACKEND"
  measure 'Sluice, sealed token' "$url/orders" "$FOLDER/opaque.token" "sluice=$SERVER" "backend=$BACKEND"
  measure 'Sluice, JWT' "$url/orders" "$FOLDER/jwt.token" "sluice=$SERVER" "backend=$BACKEND"
}

measure_distinct() { # measure_distinct <tokens>
  node tests/load/gateway/tokens.js sluice "http://127.0.0.1:$PORT/" "http://127.0.0.1:$ADMIN_PORT" "$1" opaque >"$FOLDER/many.token"
  measure "Sluice, $1 sealed tokens" "http://127.0.0.1:$GATEWAY/orders" "$FOLDER/many.token" "sluice=$SERVER"
}

# A server that knows of so many revoked grants and one that knows of none, both there all the time, in turns: what a request costs differs by
# less than the machine's speed does from one minute to the next. Each begins every second round.
measure_markers() { # measure_markers <markers>
  local round with="$FOLDER/markers" gateway=$GATEWAY ports=("$PORT" "$ADMIN_PORT" "$DECISIONS")
  OTHER=$SERVER SERVER=''
  mkdir "$with"
  start_sluice "$with"
  stop_server
  python3 tests/load/gateway/markers.py "$with/sluice.db" "$1"
  start_sluice "$with"
  echo "markers: $(marker_count) in one of two servers"
  rm -f "$FOLDER/rows"
  for round in $(seq "$MARKER_ROUNDS"); do
    [ $((round % 2)) -eq 0 ] || measure_without_markers "$gateway"
    measure "Sluice, $1 markers" "http://127.0.0.1:$GATEWAY/orders" "$with/opaque.token" "sluice=$SERVER"
    [ $((round % 2)) -ne 0 ] || measure_without_markers "$gateway"
  done
  medians
  echo "resident after that: $(resident "$SERVER") with $1 markers, $(resident "$OTHER") without"
  stop_server
  rm -r "$with"
  SERVER=$OTHER OTHER='' GATEWAY=$gateway DSN="sqlite:$FOLDER/sluice.db"
  PORT=${ports[0]} ADMIN_PORT=${ports[1]} DECISIONS=${ports[2]}
}

measure_without_markers() { # measure_without_markers <gateway>
  measure 'Sluice, no markers' "http://127.0.0.1:$1/orders" "$FOLDER/opaque.token" "sluice=$OTHER"
}

resident() { awk '/^VmRSS/ { printf "%.0f MB", $2 / 1000 }' "/proc/$1/status"; }

marker_count() {
  curl -fsS "http://127.0.0.1:$ADMIN_PORT/admin/metrics/prometheus" | awk '$1 ~ /^sluice_revocation_markers/ { printf "%d", $2 }'
}

# nginx that checks nothing and Sluice in turns, for ratios on a machine whose speed swings: so many rounds, each row once in each.
measure_turns() { # measure_turns <rounds>
  local round gateway="http://127.0.0.1:$GATEWAY/orders"
  node tests/load/gateway/tokens.js sluice "http://127.0.0.1:$PORT/" "http://127.0.0.1:$ADMIN_PORT" 100000 opaque >"$FOLDER/many.token"
  start_plain_nginx
  rm -f "$FOLDER/rows"
  for round in $(seq "$1"); do
    measure 'nginx proxy_pass, a token, no check' "http://127.0.0.1:$LISTEN/orders" "$FOLDER/opaque.token" "server=$PROXY"
    measure 'Sluice, sealed token' "$gateway" "$FOLDER/opaque.token" "server=$SERVER"
    measure 'Sluice, JWT' "$gateway" "$FOLDER/jwt.token" "server=$SERVER"
    measure 'Sluice, 100000 sealed tokens' "$gateway" "$FOLDER/many.token" "server=$SERVER"
    measure 'Sluice, sealed token again' "$gateway" "$FOLDER/opaque.token" "server=$SERVER"
  done
  medians
  stop_proxy
}

# How late answers are at half of what can be had: nginx that checks nothing and Sluice, open loop, in turns. The rate is half of the
# smaller knee.
measure_knee() { # measure_knee <rounds>
  local connections round name rate
  local -A gateway=() knee=() checks=([nginx]=--unchecked [Sluice]='')
  start_plain_nginx
  gateway=([nginx]="http://127.0.0.1:$LISTEN" [Sluice]="http://127.0.0.1:$GATEWAY")
  for connections in $CONNECTIONS; do
    for name in nginx Sluice; do
      knee[$name]=$(bench_gateway "${gateway[$name]}" "$connections" ${checks[$name]} --find-knee | awk '{ print $1 }')
      printf '%-36s %4d  %8.0f/s\n' "knee of $name" "$connections" "${knee[$name]}"
    done
    rate=$(printf '%s\n' "${knee[@]}" | sort -n | awk 'NR == 1 { print int($1 / 2) }')
    for round in $(seq "$1"); do
      for name in nginx Sluice; do
        bench_gateway "${gateway[$name]}" "$connections" ${checks[$name]} --rate "$rate" |
          awk -v name="$name at half of the knee" -v connections="$connections" \
            '{ printf "%-36s %4d  %8.0f/s  p50 %6.2f ms  p99 %7.2f ms  %d errors\n", name, connections, $1, $2, $3, $4 }'
      done
    done
  done
  stop_proxy
}

bench_gateway() { # bench_gateway <gateway> <connections> <option…>: rate, p50 and p99 in ms, errors
  local gateway=$1 connections=$2
  shift 2
  # Where operations failed it ends with 1, and their number is told.
  { "$PROGRAM" bench gateway --public-url "http://127.0.0.1:$PORT" --admin-url "http://127.0.0.1:$ADMIN_PORT" --gateway-url "$gateway" \
    --path /orders --scope orders.read -c "$connections" --duration "${SECONDS_EACH}s" --no-floor --json "$@" 2>>"$FOLDER/bench.log" || true; } |
    python3 -c 'import json, sys; run = json.load(sys.stdin); late = run["latency_ms"]; print(run["ops_per_second"], late["p50"], late["p99"], run["errors"])'
}

measure_validation() {
  start_floor
  measure 'floor: an empty handler' "http://127.0.0.1:$FLOOR_PORT/" "$FOLDER/opaque.token" "floor=$FLOOR"
  measure 'Sluice, /oauth/token_validation' "http://127.0.0.1:$DECISIONS/oauth/token_validation" "$FOLDER/opaque.token" "sluice=$SERVER"
  kill "$FLOOR" && wait "$FLOOR" 2>/dev/null || true
  FLOOR=''
}

echo "log of nginx: $NGINX_LOG"
start_backend
start_sluice
for part in "${@:-nginx sluice validation auth_request haproxy varnish caddy traefik envoy blocking}"; do
  for one in $part; do
    case $one in
      nginx | auth_request | haproxy | varnish | caddy | traefik | envoy | sluice | validation | blocking) "measure_$one" ;;
      distinct=*) measure_distinct "${one#distinct=}" ;;
      turns=*) measure_turns "${one#turns=}" ;;
      knee=*) measure_knee "${one#knee=}" ;;
      markers=*) measure_markers "${one#markers=}" ;;
      *) echo "there is no part $one" >&2; exit 2 ;;
    esac
  done
done
