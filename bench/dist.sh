#!/usr/bin/env bash
# Builds the program to be shipped: twice, the second time with a profile of the first at work (profile-guided optimisation), so that what
# a busy server does lies together and is laid out for it. The same source, the same behaviour; about 15 minutes on two cores.
#
#   bench/dist.sh    the program is target/dist/sluice then; its size is told, and how long each build took, which is written beside it, too
#                    (sluice.build.json), for the reports of `sluice bench`
#
# SECONDS_EACH (5), CONNECTIONS (64) and SCENARIOS (one on a line) say what the first one is trained with: every scenario of `sluice bench`, so
# that nothing is fast at the cost of another, and the floor, so that what is measured is compared with what is built alike. DIST names
# another folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly DIST=${DIST:-$PWD/target/dist} SECONDS_EACH=${SECONDS_EACH:-5} CONNECTIONS=${CONNECTIONS:-64}
readonly SCENARIOS=${SCENARIOS:-login
login --id-token RS256
login --dsn sqlite:
login-password -c 16
refresh
refresh --scope offline_access
client-credentials
client-credentials --token jwt
introspect
userinfo
get-client
list-clients
create-client
revoke
register
register+harden
gateway}

source bench/builds.sh

# How long each build took.
TOLD=()
HOST=$(rustc -vV | sed -n 's/^host: //p')
TOOL=$(dirname "$(rustc --print target-libdir)")/bin/llvm-profdata
[ -x "$TOOL" ] || rustup component add llvm-tools

# For the host by name: build scripts and macros are left alone.
build() { # build <folder> <flags of rustc>
  local began=$SECONDS state=cold
  [ ! -d "$DIST/$1" ] || state='of what had changed'
  build_timed "$1" "$DIST/$1" env RUSTFLAGS="$2" cargo build --release --package sluice --bin sluice --target "$HOST" --target-dir "$DIST/$1"
  TOLD+=("$(printf 'build %s (%s): %d min %02d s' "$1" "$state" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)))")
}

rm -rf "$DIST/profiles"
# A scenario in which an operation fails ends this: what is trained with is what the server does when all is well.
build trained "-Cprofile-generate=$DIST/profiles"
while read -r scenario; do
  # One that names its connections keeps them: of logins by password only so many are let in as are hashed in time.
  [[ $scenario == *" -c "* ]] || scenario="$scenario -c $CONNECTIONS"
  echo "training: $scenario"
  # shellcheck disable=SC2086 # words of the scenario
  "$DIST/trained/$HOST/release/sluice" bench $scenario --warm-up 1s --duration "${SECONDS_EACH}s" --json </dev/null >/dev/null
done <<<"$SCENARIOS"
"$TOOL" merge --output "$DIST/merged.profdata" "$DIST/profiles"
build optimised "-Cprofile-use=$DIST/merged.profdata"
cp "$DIST/optimised/$HOST/release/sluice" "$DIST/sluice"
tell_builds "$DIST/sluice"
printf '%s\n' "${TOLD[@]}" "$DIST/sluice: $(numfmt --to=iec-i --suffix=B --format=%.1f "$(stat -c %s "$DIST/sluice")")"
