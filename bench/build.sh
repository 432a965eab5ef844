#!/usr/bin/env bash
# Builds the program to be measured, as `cargo build --release` does, and writes beside it how long that took (sluice.build.json). Where
# there is nothing to do, what is written there stays.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source bench/builds.sh
readonly FOLDER=${CARGO_TARGET_DIR:-target}/release
readonly PROGRAM=$FOLDER/sluice

before=$(stat -c '%Y %s' "$PROGRAM" 2>/dev/null || echo none)
build_timed release "$FOLDER" cargo build --release --package sluice --bin sluice
[ "$(stat -c '%Y %s' "$PROGRAM")" = "$before" ] || tell_builds "$PROGRAM"
