# How long builds take, written beside the program for the reports of `sluice bench`. To be sourced.

BUILDS=() # an object for each, in their order

build_timed() { # build_timed <name> <folder> <command…>: cold is what finds no such folder
  local name=$1 cold=false began=$SECONDS
  [ -d "$2" ] || cold=true
  shift 2
  "$@"
  BUILDS+=("{\"name\": \"$name\", \"seconds\": $((SECONDS - began)), \"cold\": $cold}")
}

# A working tree that differs from its commit is told to.
commit() {
  local said
  said=$(git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null) && echo "\"$said\"" || echo null
}

tell_builds() { # tell_builds <program>: what was built is this, and no other that comes into its place
  local all
  all=$(printf ', %s' "${BUILDS[@]}")
  printf '{"sha256": "%s", "commit": %s, "builds": [%s]}\n' "$(sha256sum <"$1" | cut -d' ' -f1)" "$(commit)" "${all:2}" >"$1.build.json"
}
