package tilert_test

// The binding against include/tilert.h: each function is called, each constant has its name here, each field of each struct is
// read or written, or stands below with the reason why not. cgo takes their values, types and offsets from the header itself.

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

const header = "../../include/tilert.h"

// What of the header the binding leaves out, and why.
var leftOut = map[string]string{
	"tilert_builder_retain": "a builder has one owner, which the collector counts",
	"tilert_error_retain":   "errors become Go values, and are released at once",
}

// What of a struct is spoken of in none: sizes are set by the compiler's own.
var unspoken = regexp.MustCompile(`^(struct_size|reserved\d*)$`)

var (
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	function  = regexp.MustCompile(`TILERT_API\s+[^;(]*?\b(tilert_\w+)\s*\(`)
	constant  = regexp.MustCompile(`\b(TILERT_[A-Z0-9_]+)\s*=\s*\d+|#define (TILERT_VERSION_\w+) `)
	structure = regexp.MustCompile(`(?s)\bstruct (tilert_\w+) \{(.*?)\n\}`)
	callback  = regexp.MustCompile(`\(\*(\w+)\)\([^)]*\)`)
	word      = regexp.MustCompile(`(\w+)(?:\[\d+\])?$`)
)

var (
	kinds  = regexp.MustCompile(`(?m)^TLGO_KIND\((\w+)\)`)
	spoken = regexp.MustCompile(`(\w+\.|->|\.)?\b(\w+)\b([(:]?)`)
)

// wordsOf are the binding's words: "name(" that is called, "C.NAME", ".field" that is read or written.
func wordsOf(binding string) map[string]bool {
	out := map[string]bool{}
	for _, kind := range kinds.FindAllStringSubmatch(binding, -1) {
		out["tilert_"+kind[1]+"_retain("], out["tilert_"+kind[1]+"_release("] = true, true
	}
	for _, found := range spoken.FindAllStringSubmatch(binding, -1) {
		before, name, after := found[1], found[2], found[3]
		switch {
		case after == "(":
			out[name+"("] = true
		case before == "C.":
			out["C."+name] = true
		case before != "" || after == ":":
			out["."+name] = true
		}
	}
	return out
}

// missing is what of the header's text the binding does not speak of.
func missing(header string, binding map[string]bool) []string {
	header = comment.ReplaceAllString(header, "")
	var out []string
	check := func(name, word string) {
		if _, known := leftOut[name]; !known && !binding[word] {
			out = append(out, name)
		}
	}
	for _, found := range function.FindAllStringSubmatch(header, -1) {
		check(found[1], found[1]+"(")
	}
	for _, found := range constant.FindAllStringSubmatch(header, -1) {
		check(found[1]+found[2], "C."+found[1]+found[2])
	}
	for _, found := range structure.FindAllStringSubmatch(header, -1) {
		for _, field := range fields(found[2]) {
			if !unspoken.MatchString(field) {
				check(found[1]+"."+field, "."+field)
			}
		}
	}
	sort.Strings(out)
	return out
}

// fields are the names that a struct's text declares.
func fields(body string) []string {
	var out []string
	for _, declaration := range strings.Split(body, ";") {
		if found := callback.FindStringSubmatch(declaration); found != nil {
			out = append(out, found[1])
			continue
		}
		for _, part := range strings.Split(declaration, ",") {
			if found := word.FindStringSubmatch(strings.TrimSpace(part)); found != nil {
				out = append(out, found[1])
			}
		}
	}
	return out
}

func bindingText(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "*.c", "*.h"} {
		paths := must[[]string](t)(filepath.Glob(pattern))
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				all.Write(must[[]byte](t)(os.ReadFile(path)))
			}
		}
	}
	return all.String()
}

func headerText(t *testing.T) string {
	text, err := os.ReadFile(header)
	if os.IsNotExist(err) {
		t.Skip(header, " is not there: the binding stands without the repository")
	}
	return string(must[[]byte](t)(text, err))
}

func TestTheBindingSpeaksOfAllThatTheHeaderHas(t *testing.T) {
	if out := missing(headerText(t), wordsOf(bindingText(t))); len(out) > 0 {
		t.Errorf("the binding does not use %v: bind them, or say in leftOut why not", out)
	}
}

func TestAHeaderThatGrowsIsNoticed(t *testing.T) {
	header, binding := headerText(t), wordsOf(bindingText(t))
	for _, c := range []struct{ at, more, name string }{
		{"TILERT_API void tilert_error_retain(", "TILERT_API tilert_status tilert_of_tomorrow(int x) TILERT_NOEXCEPT;\n", "tilert_of_tomorrow"},
		{"  TILERT_NOT_READY = 5,", "  TILERT_OF_TOMORROW = 99,\n", "TILERT_OF_TOMORROW"},
		{"  uint64_t memory_hits,", "  const char* of_tomorrow;\n", "tilert_stats.of_tomorrow"},
		{"  const char* target; /* \"sm_80\"", "  uint32_t one, of_tomorrow[3];\n", "tilert_kernel_options.of_tomorrow"},
	} {
		grown := strings.Replace(header, c.at, c.more+c.at, 1)
		if grown == header {
			t.Errorf("%q is no longer in the header: take another place", c.at)
		}
		if out := strings.Join(missing(grown, binding), " "); !strings.Contains(out, c.name) {
			t.Errorf("%s is not noticed, but %q", c.name, out)
		}
	}
	for name := range leftOut {
		if !strings.Contains(header, strings.Split(name, ".")[len(strings.Split(name, "."))-1]) {
			t.Errorf("%s is left out, and the header has it no more", name)
		}
	}
}

// Constants come from the header by name: none is a number of Go's.
func TestConstantsAreTheHeaders(t *testing.T) {
	typed := regexp.MustCompile(`(?m)^\s+(\w+)\s+(Status|DType|Access|Storage|Layout|Operation|ReduceOp|AtomicOp|OrderScope|ShuffleKind|StoresState|CopyPrefer|WarpSplit|CacheMode|Isolate|EventKind|DeviceKind|Binding|MemoryKind|ProductPath|BoundBy)\s+= (.*)$`)
	found := typed.FindAllStringSubmatch(bindingText(t), -1)
	if len(found) < 150 {
		t.Errorf("only %d constants", len(found))
	}
	for _, c := range found {
		if !strings.HasPrefix(c[3], "C.TILERT_") {
			t.Errorf("%s = %s", c[1], c[3])
		}
	}
}
