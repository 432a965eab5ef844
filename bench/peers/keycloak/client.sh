#!/usr/bin/env bash
# Proves that a running Keycloak does what is measured: client.sh FACTS, the file that start.sh wrote to.
set -euo pipefail
HERE=$(dirname "${BASH_SOURCE[0]}")
while IFS='=' read -r name value; do declare -r "$name=$value"; done <"$1"
source "$HERE/../oauth.sh"

# The form for logins names where it goes; its answer leads back to the application.
login() {
  local jar page action
  jar=$(mktemp)
  page=$(curl -fsS -L -c "$jar" -b "$jar" "$(authorization_url)")
  action=$(sed -n 's/.*<form id="kc-form-login"[^>]* action="\([^"]*\)".*/\1/p' <<<"$page" | sed 's/&amp;/\&/g')
  [ -n "$action" ] || { rm "$jar"; echo 'there is no form for logins' >&2; return 1; }
  curl -sS -o /dev/null -c "$jar" -b "$jar" -w '%{redirect_url}' "$action" --data-urlencode "username=$USER_NAME" --data-urlencode "password=$PASSWORD" -d credentialId=
  rm "$jar"
}

prove
