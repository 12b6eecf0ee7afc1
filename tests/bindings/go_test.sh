#!/bin/bash
# go_test.sh FOLDER [-race]: the Go module's layout, its vet, its tests with every check that cgo has; or its tests under the race detector.
set -euo pipefail
cd "$1"
shift
if [ "${1:-}" = -race ]; then
  exec go test -race .
fi
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "not as gofmt lays it out: $unformatted"; exit 1; }
go vet ./...
case $(go env GOVERSION) in
  go1.19* | go1.20*) export GODEBUG=cgocheck=2 ;;
  *) export GOEXPERIMENT=cgocheck2 ;;
esac
exec go test ./...
