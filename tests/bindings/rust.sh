#!/bin/bash
# rust.sh ACT [words]: the Rust binding against the library in TILERT_LIB_DIR, built in TILERT_SCRATCH. test: its tests and those of
# its documentation. panics: what a panic in a callback comes to, unwinding and aborting. hosts: a host with 50
# kernels on 8 threads, three times each way. twenty: prints the lines of the twenty
# programs. Ends with 77 where there is no cargo.
set -euo pipefail
act=$1
cd "$(dirname "$0")/../../bindings/rust"
if ! command -v cargo > /dev/null; then
  echo "skipped: cargo is not installed"
  exit 77
fi
export CARGO_TARGET_DIR=$TILERT_SCRATCH/target CARGO_TERM_COLOR=never RUSTFLAGS="${RUSTFLAGS:-} -D warnings"

panics() {
  local caught
  caught=$(cargo run --quiet --offline --example panicking 2> "$TILERT_SCRATCH/unwound" | grep -c '^caught: in an* ')
  [ "$caught" = 3 ] || { echo "$caught of 3 panics went on in the call"; cat "$TILERT_SCRATCH/unwound"; return 1; }
  cargo build --quiet --offline --profile abort --example panicking
  for callback in event executor reader; do
    # A process of its own that is meant to end by SIGABRT, with its words on standard error.
    local status=0
    (ulimit -c 0; "$CARGO_TARGET_DIR/abort/examples/panicking" "$callback") > "$TILERT_SCRATCH/aborted" 2>&1 || status=$?
    if [ "$status" != 134 ] || ! grep -q "in an* $callback" "$TILERT_SCRATCH/aborted"; then
      echo "$callback: the process ended with $status, not by SIGABRT with the panic's words:"
      cat "$TILERT_SCRATCH/aborted"
      return 1
    fi
  done
  echo "3 panics went on where they unwind, and ended the process where they abort"
}

hosts() {
  local profile
  for profile in dev abort; do
    cargo build --quiet --offline --profile $profile --example host
  done
  for profile in debug abort; do
    for round in 1 2 3; do "$CARGO_TARGET_DIR/$profile/examples/host"; done
  done
}

case $act in
  test)
    cargo test --quiet --offline --workspace
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --offline --no-deps --workspace
    ;;
  panics) panics ;;
  hosts) hosts ;;
  twenty) cargo run --quiet --offline --example twenty ;;
  *) echo "rust.sh: no act is called $act"; exit 2 ;;
esac
