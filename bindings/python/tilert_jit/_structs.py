"""The structs of include/tilert.h in ctypes. A test compares sizes and offsets with what C says. Not here: functions (_abi.py)."""

import ctypes as c

KINDS = {"u32": c.c_uint32, "i32": c.c_int32, "u64": c.c_uint64, "i64": c.c_int64, "ptr": c.c_void_p, "str": c.c_char_p}


def _struct(name, fields):
    """A struct from "kind name name, kind name": ids are named by their kind, arrays "kind[n]"."""
    out = []
    for group in fields.split(","):
        kind, *names = group.split()
        kind, _, count = kind.partition("[")
        type_ = KINDS[kind]
        out += [(each, type_ * int(count[:-1]) if count else type_) for each in names]
    made = type(name, (c.Structure,), {"_fields_": out, "__slots__": ()})
    KINDS[name] = made
    return made


def _id(name):
    made = KINDS[name] = type(name, (c.Structure,), {"_fields_": [("serial", c.c_uint32), ("index", c.c_uint32)], "__slots__": ()})
    return made


Dim, Tensor, Scalar, Tile, Value, Function = (_id(name) for name in ("Dim", "Tensor", "Scalar", "Tile", "Value", "Function"))
KINDS["char"] = c.c_char

# Builder
Bucket = _struct("Bucket", "i32 kind, u32 reserved, i64 a b")
DimOptions = _struct("DimOptions", "u32 struct_size bucket_count, ptr buckets, i64 divisible")
TensorOptions = _struct("TensorOptions", "u32 struct_size flags, ptr strides, u32 stride_count alignment")
Hint = _struct("Hint", "u32 struct_size, i32 kind, i64 value, u32 flags reserved, str target")
Grid = _struct("Grid", "u32 struct_size rank, ptr extents, str name, u32 flags hint_count, ptr hints, Tensor tile_count")
Header = _struct("Header", "str name text")
SourceKernel = _struct("SourceKernel", "u32 struct_size grid_rank, str language text entry, ptr headers, u32 header_count option_count,"
                                       "ptr options grid block cluster, Value shared_bytes")
BufferOptions = _struct("BufferOptions", "u32 struct_size, i32 layout, str name")
Number = _struct("Number", "i32 dtype, u32 typed, u64 bits")
Region = _struct("Region", "Tile buffer, Tensor tensor, ptr offsets extents, u32 rank extent_count")
AtomicOptions = _struct("AtomicOptions", "u32 struct_size, i32 order scope, u32 reserved, Value expected")
CopyOptions = _struct("CopyOptions", "u32 struct_size flags, ptr valid, u32 valid_count, i32 prefer, Value safe_value, u32 eviction multicast")
GemmOptions = _struct("GemmOptions", "u32 struct_size flags, i32 warp_split, u32 reserved, Value accumulate, ptr metadata a_scale b_scale")
ReduceOptions = _struct("ReduceOptions", "u32 struct_size flags")
ScanOptions = _struct("ScanOptions", "u32 struct_size flags")
SortOptions = _struct("SortOptions", "u32 struct_size flags")
Combine = _struct("Combine", "u32 struct_size count, ptr sources destinations identities, u32 dim flags")
ScatterOptions = _struct("ScatterOptions", "u32 struct_size, i32 op")
RolesOptions = _struct("RolesOptions", "u32 struct_size issuer_registers worker_registers")
InlineSource = _struct("InlineSource", "u32 struct_size place_count, str language text, ptr places values, u32 value_count reserved")
FunctionParameter = _struct("FunctionParameter", "i32 dtype passing")
SourceText = _struct("SourceText", "str language text")
DeviceFunction = _struct("DeviceFunction", "u32 struct_size, i32 result, str name, ptr parameters texts, u32 parameter_count text_count")
Operand = _struct("Operand", "Value value, ptr place")

# Host
ParameterInfo = _struct("ParameterInfo", "u32 struct_size is_tensor, str name, i32 dtype access, u32 rank alignment is_pointer_table reserved")
Argument = _struct("Argument", "i32 kind dtype, ptr data shape strides, i32 ndim device_type device_id, u32 reserved, u64 bits")
Diagnostic = _struct("Diagnostic", "u32 struct_size ordinal, u32[3] block, u32 value_count, ptr values, str message, ptr dtypes, str file,"
                                   "u32 line failed")
Event = _struct("Event", "u32 struct_size, i32 kind status, u32 reserved, str program target key message, u64 nanoseconds")
ContextOptions = _struct("ContextOptions", "u32 struct_size flags, i32 cache_mode isolate, str cache_path cache_namespace plugin_path nvrtc_path"
                                           " helper_path, u32 compile_threads seal, u64 compile_timeout, ptr on_event on_event_user,"
                                           "str hiprtc_path")
Stats = _struct("Stats", "u32 struct_size reserved, u64 memory_hits disk_hits misses compiles compile_failures compile_nanoseconds puts"
                         " put_bytes cache_faults sealed_misses loads")
Executor = _struct("Executor", "ptr parallel_for user, u32 width reserved")
DeviceOptions = _struct("DeviceOptions", "u32 struct_size, i32 kind binding ordinal, ptr uuid native executor, u32 threads reserved,"
                                         "str driver_path")
DeviceClass = _struct("DeviceClass", "u32 struct_size multiprocessors, u64 shared_bytes l2_bytes")
DeviceInfo = _struct("DeviceInfo", "u32 struct_size, i32 kind, str name target, u32 driver_version, i32 ordinal, DeviceClass device_class")
Product = _struct("Product", "u32 struct_size flags, i64 m n k, i32 a b c accumulator, i64 lda ldb ldc, u64 epilogue_bytes, str target,"
                             "ptr device_class")
ProductChoice = _struct("ProductChoice", "u32 struct_size, i32 path, u32 tile_m tile_n tile_k consumers threads stages cluster split_k raster"
                                         " flags, i32 bound, u32 shared_bytes, u64 predicted")
DimBinding = _struct("DimBinding", "str name, i64 value, ptr buckets, u32 bucket_count reserved")
KernelOptions = _struct("KernelOptions", "u32 struct_size dim_count, ptr dims, str target, ptr device_class, u32 flags reserved")
VariantInfo = _struct("VariantInfo", "u32 struct_size compiled, str target request_key binary_key conditions configuration log,"
                                     "u64 compile_nanoseconds binary_bytes, u32 registers spill_bytes threads shared_bytes")
PrepareOptions = _struct("PrepareOptions", "u32 struct_size flags, ptr dims, u32 dim_count reserved")
LaunchAttribute = _struct("LaunchAttribute", "u32 id reserved, i64 value")
LaunchFailure = _struct("LaunchFailure", "u32 struct_size, i32 status argument dim driver_code, u32 reserved, char[232] message")
LaunchInfo = _struct("LaunchInfo", "u32 struct_size flags, ptr loaded stream arguments dims, u32 argument_count dim_count, ptr workspace,"
                                   "u64 workspace_bytes, ptr attributes, u32 attribute_count reserved, ptr record, u64 record_bytes,"
                                   "ptr failure")
LaunchRecord = _struct("LaunchRecord", "u32 struct_size kernel_index, ptr function, u32[3] grid block cluster, u32 shared_bytes"
                                       " parameter_count kernel_count reserved, ptr parameters, u64 parameter_bytes, ptr parameter_offsets,"
                                       "u32 parameter_offset_count reserved2")
WorkspaceInfo = _struct("WorkspaceInfo", "u32 struct_size alignment, u64 bytes zero_bytes plan_offset plan_bytes")

ON_DIAGNOSTIC = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Diagnostic))
ON_EVENT = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Event))

# The C name of each, where it is not tilert_ and the words of the name.
C_NAMES = {"Tile": "tilert_buffer", "Value": "tilert_expr", "Stats": "tilert_stats"}


def sized(type_, **fields):
    """A struct with its struct_size."""
    return type_(struct_size=c.sizeof(type_), **fields)
