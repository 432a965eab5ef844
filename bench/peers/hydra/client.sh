#!/usr/bin/env bash
# Proves that a running Hydra does what is measured: client.sh FACTS, the file that start.sh wrote to.
set -euo pipefail
HERE=$(dirname "${BASH_SOURCE[0]}")
while IFS='=' read -r name value; do declare -r "$name=$value"; done <"$1"
# Hydra gives a refresh token to those who ask for it.
readonly SCOPE=openid+offline_access
source "$HERE/../oauth.sh"

# Introspection is for whoever reaches the admin port.
active() { # active <token>: True or False
  curl -fsS "$ADMIN/admin/oauth2/introspect" -d "token=$1" | field active
}

# Accepts at the admin port what the browser was sent to another page for; prints where it goes on.
accept() { # accept login|consent <address of the page> <JSON>
  local challenge
  challenge=$(sed -n "s/.*[?&]$1_challenge=\([^&]*\).*/\1/p" <<<"$2")
  [ -n "$challenge" ] || { echo "there is no $1 challenge in '$2'" >&2; return 1; }
  curl -fsS -X PUT -H 'Content-Type: application/json' -d "$3" "$ADMIN/admin/oauth2/auth/requests/$1/accept?$1_challenge=$challenge" | field redirect_to
}

login() {
  local jar at
  jar=$(mktemp)
  follow() { curl -sS -o /dev/null -c "$jar" -b "$jar" -w '%{redirect_url}' "$1"; }
  at=$(follow "$(authorization_url)")
  at=$(follow "$(accept login "$at" "{\"subject\": \"$USER_NAME\"}")")
  follow "$(accept consent "$at" '{"grant_scope": ["openid", "offline_access"]}')"
  rm "$jar"
}

prove
