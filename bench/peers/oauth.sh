# What every peer has to be able to do, with curl. To be sourced after what start.sh printed has been read into variables.

discovered() { # discovered <name of an endpoint>
  curl -fsS "$ISSUER/.well-known/openid-configuration" | field "$1"
}

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

form() { # form <url> <curl argument…>: as the client
  local url=$1
  shift
  curl -sS --fail-with-body -u "$CLIENT_ID:$CLIENT_SECRET" "$url" "$@"
}

client_credentials() { form "$(discovered token_endpoint)" -d grant_type=client_credentials | field access_token; }

active() { # active <token>: True or False
  form "$(discovered introspection_endpoint)" -d "token=$1" | field active
}

# Where an authorization request goes, for SCOPE (openid); the code comes back under its PKCE verifier.
readonly VERIFIER=0123456789abcdefghijklmnopqrstuvwxyz0123456789ab
authorization_url() {
  local challenge query
  challenge=$(printf %s "$VERIFIER" | openssl dgst -sha256 -binary | basenc --base64url | tr -d '=')
  query="client_id=$CLIENT_ID&response_type=code&scope=${SCOPE:-openid}&state=a-state-of-enough-length&nonce=a-nonce-of-enough-length"
  echo "$(discovered authorization_endpoint)?$query&redirect_uri=$REDIRECT_URI&code_challenge=$challenge&code_challenge_method=S256"
}

redeem() { # redeem <address with a code>: the answer of the token endpoint
  local code
  code=$(sed -n 's/.*[?&]code=\([^&]*\).*/\1/p' <<<"$1")
  [ -n "$code" ] || { echo "there is no code in '$1'" >&2; return 1; }
  form "$(discovered token_endpoint)" -d grant_type=authorization_code -d "code=$code" -d "redirect_uri=$REDIRECT_URI" -d "code_verifier=$VERIFIER"
}

refresh() { # refresh <token>
  form "$(discovered token_endpoint)" -d grant_type=refresh_token -d "refresh_token=$1"
}

# The whole round, with `login` of the peer: it prints the address that the browser is sent back to.
prove() {
  local token tokens subject algorithm
  token=$(client_credentials)
  [ "$(active "$token")" = True ] || { echo 'a fresh token is not active' >&2; return 1; }
  [ "$(active "no-such-token")" = False ] || { echo 'any token is active' >&2; return 1; }
  tokens=$(redeem "$(login)")
  algorithm=$(field id_token <<<"$tokens" | cut -d. -f1 | tr '_-' '/+' | { base64 -d 2>/dev/null || true; } | sed -n 's/.*"alg" *: *"\([A-Z0-9]*\)".*/\1/p')
  [ "$algorithm" = "$ALGORITHM" ] || { echo "the id token is signed with '$algorithm'" >&2; return 1; }
  tokens=$(refresh "$(field refresh_token <<<"$tokens")")
  subject=$(curl -fsS -H "Authorization: Bearer $(field access_token <<<"$tokens")" "$(discovered userinfo_endpoint)" | field sub)
  [ -n "$subject" ] || { echo 'userinfo names nobody' >&2; return 1; }
  echo "$SYSTEM: client credentials, introspection, login (id token $algorithm), refresh and userinfo work"
}
