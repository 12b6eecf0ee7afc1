//! Handles and structs of `tilert.h`. Written by generate.py from the header, which documents them; not by hand.

use crate::*;

#[repr(C)]
pub struct tilert_error {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_builder {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_program {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_context {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_device {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_kernel {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_variant {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_loaded {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

#[repr(C)]
pub struct tilert_job {
    _opaque: [u8; 0],
    _neither_send_nor_sync: PhantomData<(*mut u8, PhantomPinned)>,
}

pub type tilert_on_diagnostic = Option<unsafe extern "C" fn(user: *mut c_void, entry: *const tilert_diagnostic)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_dim {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_tensor {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_scalar {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_buffer {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_expr {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_function {
    pub serial: u32,
    pub index: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_bucket {
    pub kind: tilert_bucket_kind,
    pub reserved: u32,
    pub a: i64,
    pub b: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_dim_options {
    pub struct_size: u32,
    pub bucket_count: u32,
    pub buckets: *const tilert_bucket,
    pub divisible: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_tensor_options {
    pub struct_size: u32,
    pub flags: u32,
    pub strides: *const tilert_expr,
    pub stride_count: u32,
    pub alignment: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_hint {
    pub struct_size: u32,
    pub kind: tilert_hint_kind,
    pub value: i64,
    pub flags: u32,
    pub reserved: u32,
    pub target: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_grid {
    pub struct_size: u32,
    pub rank: u32,
    pub extents: *const tilert_expr,
    pub name: *const c_char,
    pub flags: u32,
    pub hint_count: u32,
    pub hints: *const tilert_hint,
    pub tile_count: tilert_tensor,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_header {
    pub name: *const c_char,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_source_kernel {
    pub struct_size: u32,
    pub grid_rank: u32,
    pub language: *const c_char,
    pub text: *const c_char,
    pub entry: *const c_char,
    pub headers: *const tilert_header,
    pub header_count: u32,
    pub option_count: u32,
    pub options: *const *const c_char,
    pub grid: *const tilert_expr,
    pub block: *const tilert_expr,
    pub cluster: *const tilert_expr,
    pub shared_bytes: tilert_expr,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_buffer_options {
    pub struct_size: u32,
    pub layout: tilert_layout,
    pub name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_number {
    pub dtype: tilert_dtype,
    pub typed: u32,
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_region {
    pub buffer: tilert_buffer,
    pub tensor: tilert_tensor,
    pub offsets: *const tilert_expr,
    pub extents: *const tilert_expr,
    pub rank: u32,
    pub extent_count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_atomic_options {
    pub struct_size: u32,
    pub order: tilert_order,
    pub scope: tilert_order_scope,
    pub reserved: u32,
    pub expected: tilert_expr,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_copy_options {
    pub struct_size: u32,
    pub flags: u32,
    pub valid: *const tilert_expr,
    pub valid_count: u32,
    pub prefer: tilert_copy_prefer,
    pub safe_value: tilert_expr,
    pub eviction: u32,
    pub multicast: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_gemm_options {
    pub struct_size: u32,
    pub flags: u32,
    pub warp_split: tilert_warp_split,
    pub reserved: u32,
    pub accumulate: tilert_expr,
    pub metadata: *const tilert_region,
    pub a_scale: *const tilert_region,
    pub b_scale: *const tilert_region,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_reduce_options {
    pub struct_size: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_scan_options {
    pub struct_size: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_sort_options {
    pub struct_size: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_combine {
    pub struct_size: u32,
    pub count: u32,
    pub sources: *const tilert_region,
    pub destinations: *const tilert_region,
    pub identities: *const tilert_expr,
    pub dim: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_scatter_options {
    pub struct_size: u32,
    pub op: tilert_atomic_op,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_roles_options {
    pub struct_size: u32,
    pub issuer_registers: u32,
    pub worker_registers: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_inline_source {
    pub struct_size: u32,
    pub place_count: u32,
    pub language: *const c_char,
    pub text: *const c_char,
    pub places: *const tilert_region,
    pub values: *const tilert_expr,
    pub value_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_function_parameter {
    pub dtype: tilert_dtype,
    pub passing: tilert_passing,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_source_text {
    pub language: *const c_char,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_device_function {
    pub struct_size: u32,
    pub result: tilert_dtype,
    pub name: *const c_char,
    pub parameters: *const tilert_function_parameter,
    pub texts: *const tilert_source_text,
    pub parameter_count: u32,
    pub text_count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_operand {
    pub value: tilert_expr,
    pub place: *const tilert_region,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_parameter_info {
    pub struct_size: u32,
    pub is_tensor: u32,
    pub name: *const c_char,
    pub dtype: tilert_dtype,
    pub access: tilert_access,
    pub rank: u32,
    pub alignment: u32,
    pub is_pointer_table: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_diagnostic {
    pub struct_size: u32,
    pub ordinal: u32,
    pub block: [u32; 3],
    pub value_count: u32,
    pub values: *const u64,
    pub message: *const c_char,
    pub dtypes: *const tilert_dtype,
    pub file: *const c_char,
    pub line: u32,
    pub failed: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_event {
    pub struct_size: u32,
    pub kind: tilert_event_kind,
    pub status: tilert_status,
    pub reserved: u32,
    pub program: *const c_char,
    pub target: *const c_char,
    pub key: *const c_char,
    pub message: *const c_char,
    pub nanoseconds: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_context_options {
    pub struct_size: u32,
    pub flags: u32,
    pub cache_mode: tilert_cache_mode,
    pub isolate: tilert_isolate,
    pub cache_path: *const c_char,
    pub cache_namespace: *const c_char,
    pub plugin_path: *const c_char,
    pub nvrtc_path: *const c_char,
    pub helper_path: *const c_char,
    pub compile_threads: u32,
    pub seal: u32,
    pub compile_timeout: u64,
    pub on_event: Option<unsafe extern "C" fn(user: *mut c_void, event: *const tilert_event)>,
    pub on_event_user: *mut c_void,
    pub hiprtc_path: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_stats {
    pub struct_size: u32,
    pub reserved: u32,
    pub memory_hits: u64,
    pub disk_hits: u64,
    pub misses: u64,
    pub compiles: u64,
    pub compile_failures: u64,
    pub compile_nanoseconds: u64,
    pub puts: u64,
    pub put_bytes: u64,
    pub cache_faults: u64,
    pub sealed_misses: u64,
    pub loads: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_executor {
    pub parallel_for: Option<unsafe extern "C" fn(user: *mut c_void, count: u32, body: Option<unsafe extern "C" fn(arg: *mut c_void, index: u32)>, arg: *mut c_void)>,
    pub user: *mut c_void,
    pub width: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_device_options {
    pub struct_size: u32,
    pub kind: tilert_device_kind,
    pub binding: tilert_binding,
    pub ordinal: i32,
    pub uuid: *const u8,
    pub native: *mut c_void,
    pub executor: *const tilert_executor,
    pub threads: u32,
    pub reserved: u32,
    pub driver_path: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_device_class {
    pub struct_size: u32,
    pub multiprocessors: u32,
    pub shared_bytes: u64,
    pub l2_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_device_info {
    pub struct_size: u32,
    pub kind: tilert_device_kind,
    pub name: *const c_char,
    pub target: *const c_char,
    pub driver_version: u32,
    pub ordinal: i32,
    pub device_class: tilert_device_class,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_product {
    pub struct_size: u32,
    pub flags: u32,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub a: tilert_dtype,
    pub b: tilert_dtype,
    pub c: tilert_dtype,
    pub accumulator: tilert_dtype,
    pub lda: i64,
    pub ldb: i64,
    pub ldc: i64,
    pub epilogue_bytes: u64,
    pub target: *const c_char,
    pub device_class: *const tilert_device_class,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_product_choice {
    pub struct_size: u32,
    pub path: tilert_product_path,
    pub tile_m: u32,
    pub tile_n: u32,
    pub tile_k: u32,
    pub consumers: u32,
    pub threads: u32,
    pub stages: u32,
    pub cluster: u32,
    pub split_k: u32,
    pub raster: u32,
    pub flags: u32,
    pub bound: tilert_bound,
    pub shared_bytes: u32,
    pub predicted: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_dim_binding {
    pub name: *const c_char,
    pub value: i64,
    pub buckets: *const tilert_bucket,
    pub bucket_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_kernel_options {
    pub struct_size: u32,
    pub dim_count: u32,
    pub dims: *const tilert_dim_binding,
    pub target: *const c_char,
    pub device_class: *const tilert_device_class,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_variant_info {
    pub struct_size: u32,
    pub compiled: u32,
    pub target: *const c_char,
    pub request_key: *const c_char,
    pub binary_key: *const c_char,
    pub conditions: *const c_char,
    pub configuration: *const c_char,
    pub log: *const c_char,
    pub compile_nanoseconds: u64,
    pub binary_bytes: u64,
    pub registers: u32,
    pub spill_bytes: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_prepare_options {
    pub struct_size: u32,
    pub flags: u32,
    pub dims: *const i64,
    pub dim_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_argument {
    pub kind: tilert_argument_kind,
    pub dtype: tilert_dtype,
    pub data: *mut c_void,
    pub shape: *const i64,
    pub strides: *const i64,
    pub ndim: i32,
    pub device_type: tilert_memory,
    pub device_id: i32,
    pub reserved: u32,
    pub bits: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_launch_attribute {
    pub id: tilert_attribute_id,
    pub reserved: u32,
    pub value: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_launch_failure {
    pub struct_size: u32,
    pub status: tilert_status,
    pub argument: i32,
    pub dim: i32,
    pub driver_code: i32,
    pub reserved: u32,
    pub message: [c_char; 232],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_launch_info {
    pub struct_size: u32,
    pub flags: u32,
    pub loaded: *mut tilert_loaded,
    pub stream: *mut c_void,
    pub arguments: *const tilert_argument,
    pub dims: *const i64,
    pub argument_count: u32,
    pub dim_count: u32,
    pub workspace: *mut c_void,
    pub workspace_bytes: u64,
    pub attributes: *const tilert_launch_attribute,
    pub attribute_count: u32,
    pub reserved: u32,
    pub record: *mut c_void,
    pub record_bytes: u64,
    pub failure: *mut tilert_launch_failure,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_launch_record {
    pub struct_size: u32,
    pub kernel_index: u32,
    pub function: *mut c_void,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared_bytes: u32,
    pub parameter_count: u32,
    pub kernel_count: u32,
    pub reserved: u32,
    pub parameters: *mut c_void,
    pub parameter_bytes: u64,
    pub parameter_offsets: *mut u32,
    pub parameter_offset_count: u32,
    pub reserved2: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tilert_workspace_info {
    pub struct_size: u32,
    pub alignment: u32,
    pub bytes: u64,
    pub zero_bytes: u64,
    pub plan_offset: u64,
    pub plan_bytes: u64,
}

zero_with_size! {
    tilert_dim_options,
    tilert_tensor_options,
    tilert_hint,
    tilert_grid,
    tilert_source_kernel,
    tilert_buffer_options,
    tilert_atomic_options,
    tilert_copy_options,
    tilert_gemm_options,
    tilert_reduce_options,
    tilert_scan_options,
    tilert_sort_options,
    tilert_combine,
    tilert_scatter_options,
    tilert_roles_options,
    tilert_inline_source,
    tilert_device_function,
    tilert_parameter_info,
    tilert_diagnostic,
    tilert_event,
    tilert_context_options,
    tilert_stats,
    tilert_device_options,
    tilert_device_class,
    tilert_device_info,
    tilert_product,
    tilert_product_choice,
    tilert_kernel_options,
    tilert_variant_info,
    tilert_prepare_options,
    tilert_launch_failure,
    tilert_launch_info,
    tilert_launch_record,
    tilert_workspace_info,
}
zero! {
    tilert_dim,
    tilert_tensor,
    tilert_scalar,
    tilert_buffer,
    tilert_expr,
    tilert_function,
    tilert_bucket,
    tilert_header,
    tilert_number,
    tilert_region,
    tilert_function_parameter,
    tilert_source_text,
    tilert_operand,
    tilert_executor,
    tilert_dim_binding,
    tilert_argument,
    tilert_launch_attribute,
}
