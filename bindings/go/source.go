// Source text in programs: whole kernels, text within one, device functions. It needs ContextOptions.AllowSource.

package tilert

// #include "shim.h"
import "C"

// A Header is a virtual one: the only kind that an #include of source text may name.
type Header struct{ Name, Text string }

// A SourceKernel is a whole kernel of one's own. It takes the program's parameters in their order, a tensor as a pointer, a
// scalar by value, then the dims in their order as int64.
type SourceKernel struct {
	Language    string // "cuda", "hip" or "llvm"
	Text        string
	Entry       string // symbol; or a C++ name expression (cuda)
	Headers     []Header
	Options     []string // compiler options, of the list in docs/security.md
	Grid        Shape    // 1 to 3 values
	Block       Shape    // up to 3; nil: 1, 1, 1
	Cluster     Shape    // up to 3; nil: none
	SharedBytes any      // dynamic shared memory; nil: 0
}

// SourceKernel adds it to the program.
func (b *Builder) SourceKernel(k SourceKernel) {
	b.do(func() {
		raw := one[C.tilert_source_kernel](&b.memory)
		raw.struct_size, raw.grid_rank = C.sizeof_tilert_source_kernel, C.uint32_t(len(k.Grid))
		raw.language, raw.text, raw.entry = b.memory.str(k.Language), b.memory.str(k.Text), b.memory.str(k.Entry)
		headers := many[C.tilert_header](&b.memory, len(k.Headers))
		for i, h := range k.Headers {
			headers[i].name, headers[i].text = b.memory.str(h.Name), b.memory.str(h.Text)
		}
		raw.headers, raw.header_count = first(headers), C.uint32_t(len(headers))
		options := many[*C.char](&b.memory, len(k.Options))
		for i, o := range k.Options {
			options[i] = b.memory.str(o)
		}
		raw.options, raw.option_count = first(options), C.uint32_t(len(options))
		raw.grid, raw.block, raw.cluster = b.values(k.Grid), b.three(k.Block), b.three(k.Cluster)
		raw.shared_bytes = b.optional(k.SharedBytes)
		C.tilert_builder_source_kernel(b.raw, raw)
	})
}

// three are the sizes filled up with 1 to three; NULL for none.
func (b *Builder) three(sizes Shape) *C.tilert_expr {
	if len(sizes) == 0 {
		return nil
	}
	if len(sizes) > 3 {
		b.fail(InvalidArgument, "source kernel: %d sizes of block or cluster; there are at most 3", len(sizes))
		return nil
	}
	return b.values(append(append(Shape{}, sizes...), 1, 1, 1)[:3])
}

// InlineSource is source text in the middle of a kernel, with $0, $1, ... for the places, then the values.
func (b *Builder) InlineSource(language, text string, places []Place, values ...any) {
	b.do(func() {
		raw := one[C.tilert_inline_source](&b.memory)
		raw.struct_size = C.sizeof_tilert_inline_source
		raw.language, raw.text = b.memory.str(language), b.memory.str(text)
		raw.places, raw.place_count = b.regions(places), C.uint32_t(len(places))
		raw.values, raw.value_count = b.values(values), C.uint32_t(len(values))
		C.tilert_builder_inline_source(b.raw, raw)
	})
}

// A Parameter is how a device function takes an operand.
type Parameter struct {
	dtype   DType
	passing C.tilert_passing
}

// ByValue takes a value.
func ByValue(dtype DType) Parameter { return Parameter{dtype, C.TILERT_BY_VALUE} }

// ByReadPointer takes the address of an element to read.
func ByReadPointer(dtype DType) Parameter { return Parameter{dtype, C.TILERT_BY_READ_POINTER} }

// ByWritePointer takes the address of an element to write; what was there is not read.
func ByWritePointer(dtype DType) Parameter { return Parameter{dtype, C.TILERT_BY_WRITE_POINTER} }

// ByUpdatePointer takes the address of an element to read and write.
func ByUpdatePointer(dtype DType) Parameter { return Parameter{dtype, C.TILERT_BY_UPDATE_POINTER} }

// A SourceText is a device function's definition in one language: "cuda", "hip" or "llvm".
type SourceText struct{ Language, Text string }

// A DeviceFunction is a function of one's own text, of the builder that declared it.
type DeviceFunction struct {
	id         C.tilert_function
	parameters []Parameter
	gives      bool
}

// DeviceFunction declares one. result 0: it gives no value.
func (b *Builder) DeviceFunction(name string, result DType, parameters []Parameter, texts ...SourceText) (out DeviceFunction) {
	b.do(func() {
		raw := one[C.tilert_device_function](&b.memory)
		raw.struct_size, raw.result, raw.name = C.sizeof_tilert_device_function, C.tilert_dtype(result), b.memory.str(name)
		list := many[C.tilert_function_parameter](&b.memory, len(parameters))
		for i, p := range parameters {
			list[i].dtype, list[i].passing = C.tilert_dtype(p.dtype), p.passing
		}
		raw.parameters, raw.parameter_count = first(list), C.uint32_t(len(list))
		sources := many[C.tilert_source_text](&b.memory, len(texts))
		for i, t := range texts {
			sources[i].language, sources[i].text = b.memory.str(t.Language), b.memory.str(t.Text)
		}
		raw.texts, raw.text_count = first(sources), C.uint32_t(len(sources))
		out = DeviceFunction{C.tilert_builder_device_function(b.raw, raw), parameters, result != 0}
	})
	return out
}

// Call calls a device function here. An element where the function takes a pointer is a place; everything else is a value. It
// gives the function's value, or none.
func (b *Builder) Call(f DeviceFunction, operands ...any) (out Expr) {
	b.do(func() {
		list := many[C.tilert_operand](&b.memory, len(operands))
		for i, given := range operands {
			at, isPlace := given.(Place)
			if isPlace && i < len(f.parameters) && f.parameters[i].passing != C.TILERT_BY_VALUE {
				list[i].place = b.region(at)
			} else {
				list[i].value = b.value(given)
			}
		}
		var result *C.tilert_expr
		if f.gives {
			result = one[C.tilert_expr](&b.memory)
		}
		C.tilert_builder_call_device(b.raw, f.id, first(list), C.uint32_t(len(list)), result)
		if f.gives {
			out = b.expr(*result)
		}
	})
	return out
}
