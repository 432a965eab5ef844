# What the peers share. To be sourced.

PEERS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly PEERS CACHE=$PEERS/../../.cache
readonly CLIENT_ID=bench REDIRECT_URI=http://127.0.0.1:9/callback USER_NAME=bench

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

random() { python3 -c 'import secrets; print(secrets.token_urlsafe(24))'; }

# Waits until a peer answers, or has ended.
wait_for() { # wait_for <pid> <url> <log> <seconds>
  local try
  for try in $(seq $(($4 * 5))); do
    ! curl -fsS -o /dev/null --max-time 5 "$2" 2>/dev/null || return 0
    kill -0 "$1" 2>/dev/null || break
    sleep 0.2
  done
  echo "nothing answers at $2 after $((try / 5)) s. The last lines of $3:" >&2
  tail -n 15 "$3" >&2
  return 1
}

# What the driver has to know. READY comes last.
tell() { # tell <issuer> <pid> <system> [name value]…
  printf '%s=%s\n' SYSTEM "$3" ISSUER "$1" PID "$2" CLIENT_ID "$CLIENT_ID" CLIENT_SECRET "$CLIENT_SECRET" REDIRECT_URI "$REDIRECT_URI" \
    USER_NAME "$USER_NAME" PASSWORD "$PASSWORD" ALGORITHM "$ALGORITHM" "${@:4}" READY yes
}
