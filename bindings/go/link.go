//go:build !tilert_flags

// How the library is found: through pkg-config. The tag tilert_flags leaves it to CGO_CFLAGS and CGO_LDFLAGS.

package tilert

// #cgo pkg-config: tilert
import "C"
