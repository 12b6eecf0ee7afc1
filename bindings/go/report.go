// What a program tells its reader: print and assert. Reading it is in diagnostics.go.

package tilert

// #include "shim.h"
import "C"

import "strings"

// MaxReported is how many values one Print or Assert tells.
const MaxReported = C.TILERT_MAX_REPORTED

// Print leaves an entry in the launch's ring, which Loaded.Diagnostics reads: strings as they are, and values.
// b.Print("x = ", x, " at ", i).
func (b *Builder) Print(parts ...any) {
	b.do(func() {
		text, ids, count := b.told(parts)
		C.tilert_builder_print(b.raw, text, ids, count)
	})
}

// PrintTile leaves an entry for each element of a region, which reads "name[3, 5] = 0.25"; "" is the tile's own name.
func (b *Builder) PrintTile(name string, region Place) {
	b.do(func() { C.tilert_builder_print_tile(b.raw, b.memory.optional(name), b.region(region)) })
}

// Assert leaves an entry where condition, a bool, does not hold; the kernel goes on.
func (b *Builder) Assert(condition any, parts ...any) {
	b.do(func() {
		test := b.value(condition)
		text, ids, count := b.told(parts)
		C.tilert_builder_assert(b.raw, test, text, ids, count)
	})
}

// told are words and values in the library's form.
func (b *Builder) told(parts []any) (*C.char, *C.tilert_expr, C.uint32_t) {
	var words strings.Builder
	var values []any
	for _, part := range parts {
		if text, ok := part.(string); ok {
			words.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(text))
		} else {
			words.WriteString("{}")
			values = append(values, part)
		}
	}
	return b.memory.str(words.String()), b.values(values), C.uint32_t(len(values))
}
