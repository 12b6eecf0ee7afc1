// Programs [NAME...] builds the twenty programs of bindings/programs, whose README.md says what they are, and prints a line for
// each (all, or those named):
//
//	name request-key-for-the-CPU request-key-for-sm_90a digest-of-a-run
package main

import (
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"strings"

	. "tilert"
)

const cpu = "cpu:x86-64"

// fill makes element i of the j-th tensor parameter of ((7 i + 3 j) mod 17).
func fill(m *Memory, dtype DType, count, j int) {
	bytes := m.Bytes()
	if dtype.Bits() < 8 {
		count = len(bytes)
	}
	for i := 0; i < count; i++ {
		n := (7*i + 3*j) % 17
		f := float32(n-8) / 8
		switch dtype {
		case F32:
			View[float32](m)[i] = f
		case F64:
			View[float64](m)[i] = float64(f)
		case BF16:
			View[BFloat16](m)[i] = ToBFloat16(f)
		case F16:
			View[Float16](m)[i] = ToFloat16(f)
		case Int8:
			View[int8](m)[i] = int8(n - 8)
		case Int32:
			View[int32](m)[i] = int32(n - 8)
		case Int64:
			View[int64](m)[i] = int64(n - 8)
		case Uint8:
			bytes[i] = byte(n)
		case Uint16:
			View[uint16](m)[i] = uint16(n)
		case Uint32:
			View[uint32](m)[i] = uint32(n)
		case E4M3:
			bytes[i] = byte(0x30 + n)
		case Int4:
			bytes[i] = byte(15 * n)
		default:
			panic("no rule fills " + dtype.String())
		}
	}
}

// keys are the request keys of all variants.
func keys(kernel *Kernel) (string, error) {
	variants, err := kernel.Variants()
	if err != nil {
		return "", err
	}
	var out []string
	for _, v := range variants {
		info, err := v.Info()
		if err != nil {
			return "", err
		}
		out = append(out, info.RequestKey)
		v.Close()
	}
	return strings.Join(out, "+"), nil
}

// workspace is the greatest that a variant asks for.
func workspace(kernel *Kernel, dims []int64) (*Memory, error) {
	variants, err := kernel.Variants()
	if err != nil {
		return nil, err
	}
	most := int64(0)
	for _, v := range variants {
		info, err := v.Workspace(dims...)
		if err != nil {
			return nil, err
		}
		if info.Bytes > most {
			most = info.Bytes
		}
		v.Close()
	}
	if most == 0 {
		return nil, nil
	}
	return Alloc(int(most))
}

// arguments are those of one run, and the memory of what is written.
func arguments(program *Program, c testCase) (args []Arg, written []*Memory, err error) {
	tensors, scalars := 0, 0
	for _, p := range program.Parameters() {
		if !p.IsTensor {
			args = append(args, c.scalars[scalars])
			scalars++
			continue
		}
		t := c.tensors[tensors]
		count := int64(1)
		for _, size := range t.shape {
			count *= size
		}
		if t.strides != nil {
			count = t.shape[0] * t.strides[0]
		}
		memory, err := Alloc(int(count) * p.DType.Bits() / 8)
		if err != nil {
			return nil, nil, err
		}
		if p.Access == In {
			fill(memory, p.DType, int(count), tensors)
		} else {
			written = append(written, memory)
		}
		tensors++
		arg := memory.Arg(t.shape...)
		if t.strides != nil {
			arg = arg.Strides(t.strides...)
		}
		if p.PointerTable {
			table, err := tableInto(memory, int(t.shape[0]))
			if err != nil {
				return nil, nil, err
			}
			arg = table.Arg(t.shape...).Table()
		}
		args = append(args, arg)
	}
	return args, written, nil
}

// tableInto has a pointer to each of the parts of memory. Each part has memory of its own.
func tableInto(memory *Memory, parts int) (*Memory, error) {
	all := memory.Bytes()
	size := len(all) / parts
	var list []*Memory
	for g := 0; g < parts; g++ {
		part, err := AllocFor(all[g*size : (g+1)*size])
		if err != nil {
			return nil, err
		}
		list = append(list, part)
	}
	return TableOf(list...)
}

// digest is of a run's outputs.
func digest(device *Device, program *Program, kernel *Kernel, c testCase) (uint64, error) {
	loaded, err := kernel.Prepare(device)
	if err != nil {
		return 0, err
	}
	defer loaded.Close()
	var o LaunchOptions
	for _, name := range program.Dims() {
		size, known := c.dims[name]
		if !known {
			if size, known = c.bound[name]; !known {
				size = -1
			}
		}
		o.DimList = append(o.DimList, size)
	}
	memory, err := workspace(kernel, o.DimList)
	if err != nil {
		return 0, err
	}
	if memory != nil {
		o.Workspace = memory.Span()
	}
	args, written, err := arguments(program, c)
	if err != nil {
		return 0, err
	}
	bound, err := loaded.Bind(args, o)
	if err != nil {
		return 0, err
	}
	defer bound.Close()
	if err := bound.Launch(0); err != nil {
		return 0, err
	}
	hash := fnv.New64a()
	for _, m := range written {
		hash.Write(m.Bytes())
	}
	return hash.Sum64(), nil
}

func run(names []string) error {
	context, err := NewContext(ContextOptions{AllowSource: true, Cache: CacheMemory})
	if err != nil {
		return err
	}
	device, err := context.CPU()
	if err != nil {
		return err
	}
	for _, c := range cases {
		if len(names) > 0 && !strings.Contains(" "+strings.Join(names, " ")+" ", " "+c.name+" ") {
			continue
		}
		b := NewBuilder(c.name)
		c.build(b)
		program, err := b.Finish()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		var words []string
		var here *Kernel
		for _, target := range []string{cpu, "sm_90a"} {
			kernel, err := context.Kernel(program, KernelOptions{Target: target, Dims: c.bound})
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if target == cpu {
				here = kernel
			}
			all, err := keys(kernel)
			if err != nil {
				return err
			}
			words = append(words, all)
		}
		made, err := digest(device, program, here, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("%s %s %016x\n", c.name, strings.Join(words, " "), made)
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
