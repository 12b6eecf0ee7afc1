// The tables of layout.rs: every struct, field, value and function. Written by generate.py.

pub fn numbers(out: &mut Vec<(String, i64)>) {
    layout!(out, tilert_dim, serial, index);
    layout!(out, tilert_tensor, serial, index);
    layout!(out, tilert_scalar, serial, index);
    layout!(out, tilert_buffer, serial, index);
    layout!(out, tilert_expr, serial, index);
    layout!(out, tilert_function, serial, index);
    layout!(out, tilert_bucket, kind, reserved, a, b);
    layout!(out, tilert_dim_options, struct_size, bucket_count, buckets, divisible);
    layout!(out, tilert_tensor_options, struct_size, flags, strides, stride_count, alignment);
    layout!(out, tilert_hint, struct_size, kind, value, flags, reserved, target);
    layout!(out, tilert_grid, struct_size, rank, extents, name, flags, hint_count, hints, tile_count);
    layout!(out, tilert_header, name, text);
    layout!(out, tilert_source_kernel, struct_size, grid_rank, language, text, entry, headers, header_count, option_count, options, grid, block, cluster, shared_bytes);
    layout!(out, tilert_buffer_options, struct_size, layout, name);
    layout!(out, tilert_number, dtype, typed, bits);
    layout!(out, tilert_region, buffer, tensor, offsets, extents, rank, extent_count);
    layout!(out, tilert_atomic_options, struct_size, order, scope, reserved, expected);
    layout!(out, tilert_copy_options, struct_size, flags, valid, valid_count, prefer, safe_value, eviction, multicast);
    layout!(out, tilert_gemm_options, struct_size, flags, warp_split, reserved, accumulate, metadata, a_scale, b_scale);
    layout!(out, tilert_reduce_options, struct_size, flags);
    layout!(out, tilert_scan_options, struct_size, flags);
    layout!(out, tilert_sort_options, struct_size, flags);
    layout!(out, tilert_combine, struct_size, count, sources, destinations, identities, dim, flags);
    layout!(out, tilert_scatter_options, struct_size, op);
    layout!(out, tilert_roles_options, struct_size, issuer_registers, worker_registers);
    layout!(out, tilert_inline_source, struct_size, place_count, language, text, places, values, value_count, reserved);
    layout!(out, tilert_function_parameter, dtype, passing);
    layout!(out, tilert_source_text, language, text);
    layout!(out, tilert_device_function, struct_size, result, name, parameters, texts, parameter_count, text_count);
    layout!(out, tilert_operand, value, place);
    layout!(out, tilert_parameter_info, struct_size, is_tensor, name, dtype, access, rank, alignment, is_pointer_table, reserved);
    layout!(out, tilert_diagnostic, struct_size, ordinal, block, value_count, values, message, dtypes, file, line, failed);
    layout!(out, tilert_event, struct_size, kind, status, reserved, program, target, key, message, nanoseconds);
    layout!(out, tilert_context_options, struct_size, flags, cache_mode, isolate, cache_path, cache_namespace, plugin_path, nvrtc_path, helper_path, compile_threads, seal, compile_timeout, on_event, on_event_user, hiprtc_path);
    layout!(out, tilert_stats, struct_size, reserved, memory_hits, disk_hits, misses, compiles, compile_failures, compile_nanoseconds, puts, put_bytes, cache_faults, sealed_misses, loads);
    layout!(out, tilert_executor, parallel_for, user, width, reserved);
    layout!(out, tilert_device_options, struct_size, kind, binding, ordinal, uuid, native, executor, threads, reserved, driver_path);
    layout!(out, tilert_device_class, struct_size, multiprocessors, shared_bytes, l2_bytes);
    layout!(out, tilert_device_info, struct_size, kind, name, target, driver_version, ordinal, device_class);
    layout!(out, tilert_product, struct_size, flags, m, n, k, a, b, c, accumulator, lda, ldb, ldc, epilogue_bytes, target, device_class);
    layout!(out, tilert_product_choice, struct_size, path, tile_m, tile_n, tile_k, consumers, threads, stages, cluster, split_k, raster, flags, bound, shared_bytes, predicted);
    layout!(out, tilert_dim_binding, name, value, buckets, bucket_count, reserved);
    layout!(out, tilert_kernel_options, struct_size, dim_count, dims, target, device_class, flags, reserved);
    layout!(out, tilert_variant_info, struct_size, compiled, target, request_key, binary_key, conditions, configuration, log, compile_nanoseconds, binary_bytes, registers, spill_bytes, threads, shared_bytes);
    layout!(out, tilert_prepare_options, struct_size, flags, dims, dim_count, reserved);
    layout!(out, tilert_argument, kind, dtype, data, shape, strides, ndim, device_type, device_id, reserved, bits);
    layout!(out, tilert_launch_attribute, id, reserved, value);
    layout!(out, tilert_launch_failure, struct_size, status, argument, dim, driver_code, reserved, message);
    layout!(out, tilert_launch_info, struct_size, flags, loaded, stream, arguments, dims, argument_count, dim_count, workspace, workspace_bytes, attributes, attribute_count, reserved, record, record_bytes, failure);
    layout!(out, tilert_launch_record, struct_size, kernel_index, function, grid, block, cluster, shared_bytes, parameter_count, kernel_count, reserved, parameters, parameter_bytes, parameter_offsets, parameter_offset_count, reserved2);
    layout!(out, tilert_workspace_info, struct_size, alignment, bytes, zero_bytes, plan_offset, plan_bytes);
    value!(out, TILERT_OK);
    value!(out, TILERT_INVALID_ARGUMENT);
    value!(out, TILERT_INVALID_PROGRAM);
    value!(out, TILERT_UNSUPPORTED);
    value!(out, TILERT_UNAVAILABLE);
    value!(out, TILERT_NOT_READY);
    value!(out, TILERT_ALIGNMENT);
    value!(out, TILERT_SHAPE);
    value!(out, TILERT_OUT_OF_MEMORY);
    value!(out, TILERT_DRIVER);
    value!(out, TILERT_COMPILE);
    value!(out, TILERT_FORKED);
    value!(out, TILERT_SEALED);
    value!(out, TILERT_TIMEOUT);
    value!(out, TILERT_CANCELLED);
    value!(out, TILERT_SOURCE_REFUSED);
    value!(out, TILERT_CORRUPT);
    value!(out, TILERT_INTERNAL);
    value!(out, TILERT_BOOL);
    value!(out, TILERT_INT4);
    value!(out, TILERT_INT8);
    value!(out, TILERT_INT16);
    value!(out, TILERT_INT32);
    value!(out, TILERT_INT64);
    value!(out, TILERT_UINT4);
    value!(out, TILERT_UINT8);
    value!(out, TILERT_UINT16);
    value!(out, TILERT_UINT32);
    value!(out, TILERT_UINT64);
    value!(out, TILERT_F16);
    value!(out, TILERT_BF16);
    value!(out, TILERT_F32);
    value!(out, TILERT_F64);
    value!(out, TILERT_TF32);
    value!(out, TILERT_E4M3);
    value!(out, TILERT_E5M2);
    value!(out, TILERT_E4M3FNUZ);
    value!(out, TILERT_E5M2FNUZ);
    value!(out, TILERT_E8M0);
    value!(out, TILERT_E2M3);
    value!(out, TILERT_E3M2);
    value!(out, TILERT_E2M1);
    value!(out, TILERT_NF4);
    value!(out, TILERT_INDEX);
    value!(out, TILERT_BUCKET_RANGE);
    value!(out, TILERT_BUCKET_DIVISOR);
    value!(out, TILERT_IN);
    value!(out, TILERT_OUT);
    value!(out, TILERT_INOUT);
    value!(out, TILERT_TENSOR_MAY_ALIAS);
    value!(out, TILERT_TENSOR_POINTER_TABLE);
    value!(out, TILERT_HINT_THREADS);
    value!(out, TILERT_HINT_THREADS_FIXED);
    value!(out, TILERT_HINT_MIN_BLOCKS);
    value!(out, TILERT_HINT_MAX_REGISTERS);
    value!(out, TILERT_HINT_RASTER);
    value!(out, TILERT_HINT_ROLES);
    value!(out, TILERT_HINT_CLUSTER);
    value!(out, TILERT_HINT_PDL);
    value!(out, TILERT_HINT_SPLIT_K);
    value!(out, TILERT_HINT_CONSUMERS);
    value!(out, TILERT_HINT_MUST);
    value!(out, TILERT_GRID_PERSISTENT);
    value!(out, TILERT_GRID_NO_CONTRACT);
    value!(out, TILERT_GRID_FIXED_ORDER);
    value!(out, TILERT_GRID_FAST_MATH);
    value!(out, TILERT_SHARED);
    value!(out, TILERT_FRAGMENT);
    value!(out, TILERT_VAR);
    value!(out, TILERT_LOCAL);
    value!(out, TILERT_LAYOUT_AUTO);
    value!(out, TILERT_LAYOUT_ROW_MAJOR);
    value!(out, TILERT_LAYOUT_PADDED);
    value!(out, TILERT_LAYOUT_SWIZZLE_32);
    value!(out, TILERT_LAYOUT_SWIZZLE_64);
    value!(out, TILERT_LAYOUT_SWIZZLE_128);
    value!(out, TILERT_LAYOUT_CUSTOM);
    value!(out, TILERT_LAYOUT_MUST);
    value!(out, TILERT_OP_ADD);
    value!(out, TILERT_OP_SUB);
    value!(out, TILERT_OP_MUL);
    value!(out, TILERT_OP_DIV);
    value!(out, TILERT_OP_MOD);
    value!(out, TILERT_OP_TRUNC_DIV);
    value!(out, TILERT_OP_TRUNC_MOD);
    value!(out, TILERT_OP_MIN);
    value!(out, TILERT_OP_MAX);
    value!(out, TILERT_OP_MIN_NAN);
    value!(out, TILERT_OP_MAX_NAN);
    value!(out, TILERT_OP_POW);
    value!(out, TILERT_OP_AND);
    value!(out, TILERT_OP_OR);
    value!(out, TILERT_OP_XOR);
    value!(out, TILERT_OP_SHL);
    value!(out, TILERT_OP_SHR);
    value!(out, TILERT_OP_EQ);
    value!(out, TILERT_OP_NE);
    value!(out, TILERT_OP_LT);
    value!(out, TILERT_OP_LE);
    value!(out, TILERT_OP_GT);
    value!(out, TILERT_OP_GE);
    value!(out, TILERT_OP_NEG);
    value!(out, TILERT_OP_NOT);
    value!(out, TILERT_OP_ABS);
    value!(out, TILERT_OP_EXP);
    value!(out, TILERT_OP_EXP2);
    value!(out, TILERT_OP_LOG);
    value!(out, TILERT_OP_LOG2);
    value!(out, TILERT_OP_SQRT);
    value!(out, TILERT_OP_RSQRT);
    value!(out, TILERT_OP_SIN);
    value!(out, TILERT_OP_COS);
    value!(out, TILERT_OP_TANH);
    value!(out, TILERT_OP_ERF);
    value!(out, TILERT_OP_SIGMOID);
    value!(out, TILERT_OP_FLOOR);
    value!(out, TILERT_OP_CEIL);
    value!(out, TILERT_OP_ROUND);
    value!(out, TILERT_OP_TRUNC);
    value!(out, TILERT_OP_ISNAN);
    value!(out, TILERT_OP_ISINF);
    value!(out, TILERT_OP_ISFINITE);
    value!(out, TILERT_OP_SELECT);
    value!(out, TILERT_OP_FMA);
    value!(out, TILERT_OP_CEILDIV);
    value!(out, TILERT_CAST_NONSAT);
    value!(out, TILERT_ATOMIC_ADD);
    value!(out, TILERT_ATOMIC_MAX);
    value!(out, TILERT_ATOMIC_MIN);
    value!(out, TILERT_ATOMIC_AND);
    value!(out, TILERT_ATOMIC_OR);
    value!(out, TILERT_ATOMIC_XOR);
    value!(out, TILERT_ATOMIC_EXCHANGE);
    value!(out, TILERT_ATOMIC_CAS);
    value!(out, TILERT_ORDER_RELAXED);
    value!(out, TILERT_ORDER_ACQUIRE);
    value!(out, TILERT_ORDER_RELEASE);
    value!(out, TILERT_ORDER_ACQ_REL);
    value!(out, TILERT_ORDER_DEVICE);
    value!(out, TILERT_ORDER_BLOCK);
    value!(out, TILERT_ORDER_SYSTEM);
    value!(out, TILERT_RANDOM_BITS);
    value!(out, TILERT_RANDOM_UNIFORM);
    value!(out, TILERT_RANDOM_NORMAL);
    value!(out, TILERT_MAX_REPORTED);
    value!(out, TILERT_COPY_AUTO);
    value!(out, TILERT_COPY_TMA);
    value!(out, TILERT_COPY_ASYNC);
    value!(out, TILERT_COPY_SYNC);
    value!(out, TILERT_COPY_MUST);
    value!(out, TILERT_SPLIT_AUTO);
    value!(out, TILERT_SPLIT_ROWS);
    value!(out, TILERT_SPLIT_COLUMNS);
    value!(out, TILERT_SPLIT_SQUARE);
    value!(out, TILERT_GEMM_TRANS_A);
    value!(out, TILERT_GEMM_TRANS_B);
    value!(out, TILERT_GEMM_OVERWRITE);
    value!(out, TILERT_GEMM_ISSUE);
    value!(out, TILERT_GEMM_TF32);
    value!(out, TILERT_GEMM_TRANS_A_SCALE);
    value!(out, TILERT_GEMM_TRANS_B_SCALE);
    value!(out, TILERT_REDUCE_SUM);
    value!(out, TILERT_REDUCE_MAX);
    value!(out, TILERT_REDUCE_MIN);
    value!(out, TILERT_REDUCE_ABSMAX);
    value!(out, TILERT_REDUCE_ABSSUM);
    value!(out, TILERT_REDUCE_PROD);
    value!(out, TILERT_REDUCE_AND);
    value!(out, TILERT_REDUCE_OR);
    value!(out, TILERT_REDUCE_XOR);
    value!(out, TILERT_REDUCE_ARGMAX);
    value!(out, TILERT_REDUCE_ARGMIN);
    value!(out, TILERT_REDUCE_MAX_NAN);
    value!(out, TILERT_REDUCE_MIN_NAN);
    value!(out, TILERT_REDUCE_ACCUMULATE);
    value!(out, TILERT_SCAN_REVERSE);
    value!(out, TILERT_SCAN_EXCLUSIVE);
    value!(out, TILERT_SORT_DESCENDING);
    value!(out, TILERT_COMBINE_ACCUMULATE);
    value!(out, TILERT_COMBINE_SCAN);
    value!(out, TILERT_COMBINE_REVERSE);
    value!(out, TILERT_COMBINE_EXCLUSIVE);
    value!(out, TILERT_LOOP_SERIAL);
    value!(out, TILERT_LOOP_UNROLL);
    value!(out, TILERT_SHUFFLE_INDEX);
    value!(out, TILERT_SHUFFLE_UP);
    value!(out, TILERT_SHUFFLE_DOWN);
    value!(out, TILERT_SHUFFLE_XOR);
    value!(out, TILERT_VOTE_ALL);
    value!(out, TILERT_VOTE_ANY);
    value!(out, TILERT_VOTE_BALLOT);
    value!(out, TILERT_STORES_WRITTEN);
    value!(out, TILERT_STORES_READ);
    value!(out, TILERT_ROLE_ISSUE);
    value!(out, TILERT_ROLE_WORK);
    value!(out, TILERT_BY_VALUE);
    value!(out, TILERT_BY_READ_POINTER);
    value!(out, TILERT_BY_WRITE_POINTER);
    value!(out, TILERT_BY_UPDATE_POINTER);
    value!(out, TILERT_ALLOW_SOURCE);
    value!(out, TILERT_CACHE_DEFAULT);
    value!(out, TILERT_CACHE_MEMORY);
    value!(out, TILERT_CACHE_OFF);
    value!(out, TILERT_CACHE_READ_ONLY);
    value!(out, TILERT_ISOLATE_NEVER);
    value!(out, TILERT_ISOLATE_UNTRUSTED);
    value!(out, TILERT_ISOLATE_ALWAYS);
    value!(out, TILERT_EVENT_COMPILE_BEGIN);
    value!(out, TILERT_EVENT_COMPILE_END);
    value!(out, TILERT_EVENT_CACHE_HIT);
    value!(out, TILERT_EVENT_CACHE_MISS);
    value!(out, TILERT_EVENT_CACHE_FAULT);
    value!(out, TILERT_EVENT_NOTE);
    value!(out, TILERT_DEVICE_CPU);
    value!(out, TILERT_DEVICE_CUDA);
    value!(out, TILERT_DEVICE_HIP);
    value!(out, TILERT_BIND_PRIMARY);
    value!(out, TILERT_BIND_CURRENT);
    value!(out, TILERT_BIND_GIVEN);
    value!(out, TILERT_PRODUCT_TRANS_A);
    value!(out, TILERT_PRODUCT_TRANS_B);
    value!(out, TILERT_PRODUCT_TF32);
    value!(out, TILERT_PRODUCT_FIXED_ORDER);
    value!(out, TILERT_PATH_WARPGROUP);
    value!(out, TILERT_PATH_WARP);
    value!(out, TILERT_PATH_VECTOR);
    value!(out, TILERT_BOUND_TENSOR);
    value!(out, TILERT_BOUND_SHARED);
    value!(out, TILERT_BOUND_FEED);
    value!(out, TILERT_BOUND_L2);
    value!(out, TILERT_BOUND_MEMORY);
    value!(out, TILERT_BOUND_LATENCY);
    value!(out, TILERT_CHOICE_SWAPPED);
    value!(out, TILERT_CHOICE_PERSISTENT);
    value!(out, TILERT_KERNEL_DEBUG);
    value!(out, TILERT_EXPLAIN_TEXT);
    value!(out, TILERT_EXPLAIN_JSON);
    value!(out, TILERT_ARGUMENT_TENSOR);
    value!(out, TILERT_ARGUMENT_SCALAR);
    value!(out, TILERT_ARGUMENT_POINTER_TABLE);
    value!(out, TILERT_MEMORY_UNKNOWN);
    value!(out, TILERT_MEMORY_CPU);
    value!(out, TILERT_MEMORY_CUDA);
    value!(out, TILERT_MEMORY_CUDA_HOST);
    value!(out, TILERT_MEMORY_ROCM);
    value!(out, TILERT_MEMORY_ROCM_HOST);
    value!(out, TILERT_MEMORY_CUDA_MANAGED);
    value!(out, TILERT_ATTRIBUTE_PDL);
    value!(out, TILERT_ATTRIBUTE_PRIORITY);
    value!(out, TILERT_ATTRIBUTE_COOPERATIVE);
    value!(out, TILERT_ATTRIBUTE_MAX_BLOCKS);
    value!(out, TILERT_LAUNCH_DEBUG_POINTERS);
    value!(out, TILERT_RECORD_ENTRY_BYTES);
}

pub fn functions() -> Vec<(&'static str, *const ())> {
    vec![
        function!(tilert_status_name, unsafe extern "C" fn(tilert_status) -> *const c_char),
        function!(tilert_error_status, unsafe extern "C" fn(*const tilert_error) -> tilert_status),
        function!(tilert_error_message, unsafe extern "C" fn(*const tilert_error) -> *const c_char),
        function!(tilert_error_source, unsafe extern "C" fn(*const tilert_error) -> *const c_char),
        function!(tilert_error_log, unsafe extern "C" fn(*const tilert_error) -> *const c_char),
        function!(tilert_error_retain, unsafe extern "C" fn(*mut tilert_error)),
        function!(tilert_error_release, unsafe extern "C" fn(*mut tilert_error)),
        function!(tilert_version, unsafe extern "C" fn() -> u32),
        function!(tilert_feature, unsafe extern "C" fn(*const c_char, *mut *mut tilert_error) -> tilert_status),
        function!(tilert_dtype_bits, unsafe extern "C" fn(tilert_dtype) -> u32),
        function!(tilert_dtype_name, unsafe extern "C" fn(tilert_dtype) -> *const c_char),
        function!(
            tilert_builder_create,
            unsafe extern "C" fn(*const c_char, *mut *mut tilert_builder) -> tilert_status
        ),
        function!(tilert_builder_retain, unsafe extern "C" fn(*mut tilert_builder)),
        function!(tilert_builder_release, unsafe extern "C" fn(*mut tilert_builder)),
        function!(tilert_builder_at, unsafe extern "C" fn(*mut tilert_builder, *const c_char, u32, *const c_char)),
        function!(tilert_builder_status, unsafe extern "C" fn(*const tilert_builder) -> tilert_status),
        function!(
            tilert_builder_finish,
            unsafe extern "C" fn(*mut tilert_builder, *mut *mut tilert_program, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_builder_dim,
            unsafe extern "C" fn(*mut tilert_builder, *const c_char, *const tilert_dim_options) -> tilert_dim
        ),
        function!(
            tilert_builder_tensor,
            unsafe extern "C" fn(*mut tilert_builder, *const c_char, tilert_access, tilert_dtype, *const tilert_expr, u32, *const tilert_tensor_options) -> tilert_tensor
        ),
        function!(
            tilert_builder_scalar,
            unsafe extern "C" fn(*mut tilert_builder, *const c_char, tilert_dtype) -> tilert_scalar
        ),
        function!(
            tilert_builder_begin_kernel,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_grid, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_kernel, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_tile_cost,
            unsafe extern "C" fn(*mut tilert_builder, tilert_expr, tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_source_kernel,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_source_kernel) -> tilert_status
        ),
        function!(
            tilert_builder_buffer,
            unsafe extern "C" fn(*mut tilert_builder, tilert_scope, tilert_dtype, *const tilert_expr, u32, *const tilert_buffer_options) -> tilert_buffer
        ),
        function!(
            tilert_builder_layout_indices,
            unsafe extern "C" fn(*mut tilert_builder, tilert_buffer, *mut tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_annotate_layout,
            unsafe extern "C" fn(*mut tilert_builder, tilert_buffer, tilert_layout, tilert_expr, u32) -> tilert_status
        ),
        function!(
            tilert_builder_view,
            unsafe extern "C" fn(*mut tilert_builder, tilert_buffer, tilert_dtype, *const tilert_expr, u32) -> tilert_buffer
        ),
        function!(
            tilert_builder_tensor_reshape,
            unsafe extern "C" fn(*mut tilert_builder, tilert_tensor, *const tilert_expr, u32) -> tilert_tensor
        ),
        function!(
            tilert_builder_tensor_transpose,
            unsafe extern "C" fn(*mut tilert_builder, tilert_tensor, *const u32, u32) -> tilert_tensor
        ),
        function!(tilert_builder_index, unsafe extern "C" fn(*mut tilert_builder, i64) -> tilert_expr),
        function!(tilert_builder_constant, unsafe extern "C" fn(*mut tilert_builder, tilert_dtype, u64) -> tilert_expr),
        function!(tilert_builder_literal, unsafe extern "C" fn(*mut tilert_builder, tilert_dtype, u64) -> tilert_expr),
        function!(tilert_builder_dim_value, unsafe extern "C" fn(*mut tilert_builder, tilert_dim) -> tilert_expr),
        function!(tilert_builder_scalar_value, unsafe extern "C" fn(*mut tilert_builder, tilert_scalar) -> tilert_expr),
        function!(
            tilert_builder_op,
            unsafe extern "C" fn(*mut tilert_builder, tilert_op, *const tilert_expr, u32) -> tilert_expr
        ),
        function!(
            tilert_builder_cast,
            unsafe extern "C" fn(*mut tilert_builder, tilert_dtype, tilert_expr, u32) -> tilert_expr
        ),
        function!(
            tilert_builder_cast_stochastic,
            unsafe extern "C" fn(*mut tilert_builder, tilert_dtype, tilert_expr, tilert_expr, u32) -> tilert_expr
        ),
        function!(
            tilert_builder_reinterpret,
            unsafe extern "C" fn(*mut tilert_builder, tilert_dtype, tilert_expr) -> tilert_expr
        ),
        function!(tilert_builder_fast, unsafe extern "C" fn(*mut tilert_builder, tilert_expr) -> tilert_expr),
        function!(
            tilert_number_op,
            unsafe extern "C" fn(tilert_op, *const tilert_number, u32, *mut tilert_number) -> tilert_status
        ),
        function!(
            tilert_number_cast,
            unsafe extern "C" fn(tilert_dtype, *const tilert_number, *mut tilert_number) -> tilert_status
        ),
        function!(
            tilert_number_reinterpret,
            unsafe extern "C" fn(tilert_dtype, *const tilert_number, *mut tilert_number) -> tilert_status
        ),
        function!(tilert_builder_dtype_of, unsafe extern "C" fn(*mut tilert_builder, tilert_expr) -> tilert_dtype),
        function!(tilert_builder_let, unsafe extern "C" fn(*mut tilert_builder, tilert_expr) -> tilert_expr),
        function!(tilert_builder_load, unsafe extern "C" fn(*mut tilert_builder, *const tilert_region) -> tilert_expr),
        function!(
            tilert_builder_store,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_atomic,
            unsafe extern "C" fn(*mut tilert_builder, tilert_atomic_op, *const tilert_region, tilert_expr, *const tilert_atomic_options, *mut tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_atomic_tile,
            unsafe extern "C" fn(*mut tilert_builder, tilert_atomic_op, *const tilert_region, *const tilert_region, *const tilert_atomic_options) -> tilert_status
        ),
        function!(
            tilert_builder_atomic_load,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_atomic_options) -> tilert_expr
        ),
        function!(
            tilert_builder_atomic_store,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, tilert_expr, *const tilert_atomic_options) -> tilert_status
        ),
        function!(
            tilert_builder_random,
            unsafe extern "C" fn(*mut tilert_builder, tilert_random, tilert_expr, tilert_expr, tilert_expr, *mut tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_print,
            unsafe extern "C" fn(*mut tilert_builder, *const c_char, *const tilert_expr, u32) -> tilert_status
        ),
        function!(
            tilert_builder_print_tile,
            unsafe extern "C" fn(*mut tilert_builder, *const c_char, *const tilert_region) -> tilert_status
        ),
        function!(
            tilert_builder_assert,
            unsafe extern "C" fn(*mut tilert_builder, tilert_expr, *const c_char, *const tilert_expr, u32) -> tilert_status
        ),
        function!(
            tilert_builder_copy,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_copy_options) -> tilert_status
        ),
        function!(
            tilert_builder_fill,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_clear,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region) -> tilert_status
        ),
        function!(
            tilert_builder_gemm,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_region, *const tilert_gemm_options) -> tilert_status
        ),
        function!(
            tilert_builder_reduce,
            unsafe extern "C" fn(*mut tilert_builder, tilert_reduce_op, *const tilert_region, *const tilert_region, u32, *const tilert_reduce_options) -> tilert_status
        ),
        function!(
            tilert_builder_scan,
            unsafe extern "C" fn(*mut tilert_builder, tilert_reduce_op, *const tilert_region, *const tilert_region, u32, *const tilert_scan_options) -> tilert_status
        ),
        function!(
            tilert_builder_sort,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_region, u32, *const tilert_sort_options) -> tilert_status
        ),
        function!(
            tilert_builder_begin_combine,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_combine, *mut tilert_expr, *mut tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_end_combine,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_expr, u32) -> tilert_status
        ),
        function!(
            tilert_builder_gather,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_region, u32) -> tilert_status
        ),
        function!(
            tilert_builder_scatter,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_region, u32, *const tilert_scatter_options) -> tilert_status
        ),
        function!(
            tilert_builder_transpose,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const u32, u32) -> tilert_status
        ),
        function!(
            tilert_builder_begin_parallel,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_expr, u32, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_parallel, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_begin_serial,
            unsafe extern "C" fn(*mut tilert_builder, tilert_loop, tilert_expr, tilert_expr, tilert_expr, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_serial, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_begin_pipelined,
            unsafe extern "C" fn(*mut tilert_builder, tilert_expr, u32, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_pipelined, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_begin_while, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_begin_while_body,
            unsafe extern "C" fn(*mut tilert_builder, tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_while, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_break, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_continue, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_return, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_grid_sync, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_begin_if, unsafe extern "C" fn(*mut tilert_builder, tilert_expr) -> tilert_status),
        function!(tilert_builder_begin_else, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_end_if, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_begin_threads,
            unsafe extern "C" fn(*mut tilert_builder, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_builder_end_threads, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_thread_id, unsafe extern "C" fn(*mut tilert_builder) -> tilert_expr),
        function!(
            tilert_builder_shuffle,
            unsafe extern "C" fn(*mut tilert_builder, tilert_shuffle, tilert_expr, tilert_expr, u32) -> tilert_expr
        ),
        function!(
            tilert_builder_vote,
            unsafe extern "C" fn(*mut tilert_builder, tilert_vote, tilert_expr) -> tilert_expr
        ),
        function!(tilert_builder_sync_threads, unsafe extern "C" fn(*mut tilert_builder, u32, u32) -> tilert_status),
        function!(tilert_builder_fence, unsafe extern "C" fn(*mut tilert_builder, tilert_order_scope) -> tilert_status),
        function!(
            tilert_builder_copy_async,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, u32) -> tilert_status
        ),
        function!(tilert_builder_commit_copies, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_wait_copies, unsafe extern "C" fn(*mut tilert_builder, u32) -> tilert_status),
        function!(
            tilert_builder_barriers,
            unsafe extern "C" fn(*mut tilert_builder, u32, u32, *const tilert_buffer_options) -> tilert_buffer
        ),
        function!(
            tilert_builder_arrive,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region) -> tilert_status
        ),
        function!(
            tilert_builder_arrive_expect,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, u32) -> tilert_status
        ),
        function!(
            tilert_builder_wait_barrier,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, tilert_expr) -> tilert_status
        ),
        function!(
            tilert_builder_load_tensor,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region, *const tilert_region) -> tilert_status
        ),
        function!(
            tilert_builder_store_tensor,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_region, *const tilert_region) -> tilert_status
        ),
        function!(tilert_builder_commit_stores, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_wait_stores,
            unsafe extern "C" fn(*mut tilert_builder, u32, tilert_stores_state) -> tilert_status
        ),
        function!(tilert_builder_commit_products, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_wait_products, unsafe extern "C" fn(*mut tilert_builder, u32) -> tilert_status),
        function!(
            tilert_builder_begin_roles,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_roles_options) -> tilert_status
        ),
        function!(tilert_builder_begin_role, unsafe extern "C" fn(*mut tilert_builder, tilert_role) -> tilert_status),
        function!(tilert_builder_end_role, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(tilert_builder_end_roles, unsafe extern "C" fn(*mut tilert_builder) -> tilert_status),
        function!(
            tilert_builder_inline_source,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_inline_source) -> tilert_status
        ),
        function!(
            tilert_builder_device_function,
            unsafe extern "C" fn(*mut tilert_builder, *const tilert_device_function) -> tilert_function
        ),
        function!(
            tilert_builder_call_device,
            unsafe extern "C" fn(*mut tilert_builder, tilert_function, *const tilert_operand, u32, *mut tilert_expr) -> tilert_status
        ),
        function!(tilert_program_retain, unsafe extern "C" fn(*mut tilert_program)),
        function!(tilert_program_release, unsafe extern "C" fn(*mut tilert_program)),
        function!(
            tilert_program_parse,
            unsafe extern "C" fn(*const c_char, usize, *const c_char, u32, *mut *mut tilert_program, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_program_text,
            unsafe extern "C" fn(*mut tilert_program, *mut *const c_char, *mut usize, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_program_hash,
            unsafe extern "C" fn(*mut tilert_program, *mut *const c_char, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_program_has_source, unsafe extern "C" fn(*const tilert_program) -> c_int),
        function!(tilert_program_parameter_count, unsafe extern "C" fn(*const tilert_program) -> u32),
        function!(
            tilert_program_parameter,
            unsafe extern "C" fn(*const tilert_program, u32, *mut tilert_parameter_info) -> tilert_status
        ),
        function!(tilert_program_dim_count, unsafe extern "C" fn(*const tilert_program) -> u32),
        function!(tilert_program_dim_name, unsafe extern "C" fn(*const tilert_program, u32) -> *const c_char),
        function!(
            tilert_program_interpret,
            unsafe extern "C" fn(*mut tilert_program, *const tilert_argument, u32, *const i64, u32, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_program_interpret_diagnosed,
            unsafe extern "C" fn(*mut tilert_program, *const tilert_argument, u32, *const i64, u32, tilert_on_diagnostic, *mut c_void, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_context_create,
            unsafe extern "C" fn(*const tilert_context_options, *mut *mut tilert_context, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_context_retain, unsafe extern "C" fn(*mut tilert_context)),
        function!(tilert_context_release, unsafe extern "C" fn(*mut tilert_context)),
        function!(tilert_context_seal, unsafe extern "C" fn(*mut tilert_context) -> tilert_status),
        function!(tilert_context_stats, unsafe extern "C" fn(*mut tilert_context, *mut tilert_stats) -> tilert_status),
        function!(tilert_commit, unsafe extern "C" fn(*mut tilert_context, *mut *mut tilert_error) -> tilert_status),
        function!(
            tilert_bundle_write,
            unsafe extern "C" fn(*mut tilert_context, *const *mut tilert_kernel, u32, *const c_char, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_bundle_load,
            unsafe extern "C" fn(*mut tilert_context, *const c_char, u32, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_device_open,
            unsafe extern "C" fn(*mut tilert_context, *const tilert_device_options, *mut *mut tilert_device, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_device_retain, unsafe extern "C" fn(*mut tilert_device)),
        function!(tilert_device_release, unsafe extern "C" fn(*mut tilert_device)),
        function!(
            tilert_device_get_info,
            unsafe extern "C" fn(*mut tilert_device, *mut tilert_device_info) -> tilert_status
        ),
        function!(
            tilert_trim,
            unsafe extern "C" fn(*mut tilert_device, *mut u32, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_recommend_product,
            unsafe extern "C" fn(*const tilert_product, *mut tilert_product_choice, *mut u32, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_kernel_create,
            unsafe extern "C" fn(*mut tilert_context, *mut tilert_program, *const tilert_kernel_options, *mut *mut tilert_kernel, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_kernel_retain, unsafe extern "C" fn(*mut tilert_kernel)),
        function!(tilert_kernel_release, unsafe extern "C" fn(*mut tilert_kernel)),
        function!(
            tilert_kernel_compile,
            unsafe extern "C" fn(*mut tilert_kernel, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_kernel_variant_count, unsafe extern "C" fn(*mut tilert_kernel) -> u32),
        function!(
            tilert_kernel_variant,
            unsafe extern "C" fn(*mut tilert_kernel, u32, *mut *mut tilert_variant) -> tilert_status
        ),
        function!(tilert_variant_retain, unsafe extern "C" fn(*mut tilert_variant)),
        function!(tilert_variant_release, unsafe extern "C" fn(*mut tilert_variant)),
        function!(
            tilert_variant_get_info,
            unsafe extern "C" fn(*mut tilert_variant, *mut tilert_variant_info) -> tilert_status
        ),
        function!(
            tilert_variant_text,
            unsafe extern "C" fn(*mut tilert_variant, *const c_char, *mut *const c_char, *mut usize, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_variant_explain,
            unsafe extern "C" fn(*mut tilert_variant, tilert_explain_format, *mut *const c_char, *mut usize, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_variant_binary,
            unsafe extern "C" fn(*mut tilert_variant, *mut *const c_void, *mut usize, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_prepare,
            unsafe extern "C" fn(*mut tilert_kernel, *mut tilert_device, *const tilert_prepare_options, *mut *mut tilert_loaded, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_loaded_retain, unsafe extern "C" fn(*mut tilert_loaded)),
        function!(tilert_loaded_release, unsafe extern "C" fn(*mut tilert_loaded)),
        function!(
            tilert_prepare_submit,
            unsafe extern "C" fn(*mut tilert_kernel, *mut tilert_device, *const tilert_prepare_options, *mut *mut tilert_job, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_job_poll, unsafe extern "C" fn(*mut tilert_job) -> tilert_status),
        function!(tilert_job_wait, unsafe extern "C" fn(*mut tilert_job, u64) -> tilert_status),
        function!(tilert_job_cancel, unsafe extern "C" fn(*mut tilert_job) -> tilert_status),
        function!(
            tilert_job_result,
            unsafe extern "C" fn(*mut tilert_job, *mut *mut tilert_loaded, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_job_retain, unsafe extern "C" fn(*mut tilert_job)),
        function!(tilert_job_release, unsafe extern "C" fn(*mut tilert_job)),
        function!(tilert_launch, unsafe extern "C" fn(*const tilert_launch_info) -> tilert_status),
        function!(
            tilert_launch_export,
            unsafe extern "C" fn(*const tilert_launch_info, *mut tilert_launch_record) -> tilert_status
        ),
        function!(tilert_unpin, unsafe extern "C" fn(*mut tilert_loaded, *mut *mut tilert_error) -> tilert_status),
        function!(
            tilert_workspace,
            unsafe extern "C" fn(*mut tilert_variant, *const i64, u32, *mut tilert_workspace_info, *mut *mut tilert_error) -> tilert_status
        ),
        function!(
            tilert_plan,
            unsafe extern "C" fn(*mut tilert_loaded, *const i64, u32, u32, *mut c_void, *mut u64, *mut *mut tilert_error) -> tilert_status
        ),
        function!(tilert_plan_launch, unsafe extern "C" fn(*const tilert_launch_info) -> tilert_status),
        function!(
            tilert_diagnostics_read,
            unsafe extern "C" fn(*mut tilert_loaded, *const c_void, u64, tilert_on_diagnostic, *mut c_void, *mut *mut tilert_error) -> tilert_status
        ),
    ]
}
