#!/usr/bin/env bash
# Proves that a running oidc-provider does what is measured: client.sh FACTS, the file that start.sh wrote to.
set -euo pipefail
HERE=$(dirname "${BASH_SOURCE[0]}")
while IFS='=' read -r name value; do declare -r "$name=$value"; done <"$1"
source "$HERE/../oauth.sh"

# The page for logins accepts at once: three redirects.
login() {
  local jar
  jar=$(mktemp)
  curl -sS -o /dev/null -c "$jar" -b "$jar" -L --proto-redir =http --max-redirs 5 -w '%{url_effective}' "$(authorization_url)" 2>/dev/null || true
  rm "$jar"
}

prove
