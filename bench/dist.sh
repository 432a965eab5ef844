#!/usr/bin/env bash
# Builds the program to be shipped, so that what a busy server does lies together and is laid out for it: a build with counters is trained, a
# second one is compiled with what was counted (profile-guided optimisation), and its machine code is counted and laid out once more after it
# was linked (BOLT). The same source, the same behaviour; some 25 minutes on two cores.
#
#   bench/dist.sh    the program is target/dist/sluice then; its size is told, and how long each step took
#
# SECONDS_EACH (5), CONNECTIONS (64) and SCENARIOS (one on a line) say what both are trained with: every scenario of `sluice bench`, so
# that nothing is fast at the cost of another, and the floor, so that what is measured is compared with what is built alike. DIST names
# another folder. BOLT=no leaves the last step out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly DIST=${DIST:-$PWD/target/dist} SECONDS_EACH=${SECONDS_EACH:-5} CONNECTIONS=${CONNECTIONS:-64}
readonly SCENARIOS=${SCENARIOS:-login
login --id-token RS256
login --dsn sqlite:
login-password
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

# How long each step took.
TOLD=()
HOST=$(rustc -vV | sed -n 's/^host: //p')
TOOL=$(dirname "$(rustc --print target-libdir)")/bin/llvm-profdata
[ -x "$TOOL" ] || rustup component add llvm-tools

told() { # told <what> <second of its beginning>
  TOLD+=("$(printf '%s: %d min %02d s' "$1" $(((SECONDS - $2) / 60)) $(((SECONDS - $2) % 60)))")
}

# For the host by name: build scripts and macros are left alone. What is linked with relocations can be laid out again.
build() { # build <folder> <flags of rustc>
  local began=$SECONDS state=cold
  [ ! -d "$DIST/$1" ] || state='of what had changed'
  RUSTFLAGS=$2 cargo rustc --release --package sluice --bin sluice --target "$HOST" --target-dir "$DIST/$1" -- -Clink-arg=-Wl,--emit-relocs
  told "build $1 ($state)" "$began"
}

# A scenario in which an operation fails ends this: what is trained with is what the server does when all is well.
train() { # train <program>
  local scenario began=$SECONDS
  while read -r scenario; do
    echo "training: $scenario"
    # shellcheck disable=SC2086 # words of the scenario
    "$1" bench $scenario -c "$CONNECTIONS" --warm-up 1s --duration "${SECONDS_EACH}s" --json </dev/null >/dev/null
  done <<<"$SCENARIOS"
  told "training of ${1#"$DIST/"}" "$began"
}

# Where Debian has it; elsewhere whoever builds puts `llvm-bolt` on the path.
bolt() {
  command -v llvm-bolt || command -v llvm-bolt-19 && return
  local as_root=
  [ "$(id -u)" -eq 0 ] || as_root=sudo
  { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bolt-19; } >&2
  command -v llvm-bolt-19
}

lay_out() { # lay_out <program> <what comes of it>
  local bolt began
  bolt=$(bolt) || { echo 'llvm-bolt is missing: put it on the path, or build with BOLT=no' >&2; return 1; }
  rm -rf "$DIST/counted"
  mkdir -p "$DIST/counted"
  "$bolt" "$1" -instrument -instrumentation-file-append-pid -instrumentation-file="$DIST/counted/run" -o "$DIST/counting"
  train "$DIST/counting"
  began=$SECONDS
  "$(dirname "$(readlink -f "$bolt")")/merge-fdata" "$DIST"/counted/run.* >"$DIST/counted.fdata"
  "$bolt" "$1" -data="$DIST/counted.fdata" -o "$2" -reorder-blocks=ext-tsp -reorder-functions=cdsort \
    -split-functions -split-all-cold -split-eh -icf=1 -use-gnu-stack -dyno-stats
  told 'laying out' "$began"
}

rm -rf "$DIST/profiles"
build trained "-Cprofile-generate=$DIST/profiles"
train "$DIST/trained/$HOST/release/sluice"
"$TOOL" merge --output "$DIST/merged.profdata" "$DIST/profiles"
build optimised "-Cprofile-use=$DIST/merged.profdata"
if [ "${BOLT:-yes}" = no ]; then
  cp "$DIST/optimised/$HOST/release/sluice" "$DIST/sluice"
else
  lay_out "$DIST/optimised/$HOST/release/sluice" "$DIST/sluice"
fi
printf '%s\n' "${TOLD[@]}" "$DIST/sluice: $(numfmt --to=iec-i --suffix=B --format=%.1f "$(stat -c %s "$DIST/sluice")")"
