//! Functions of `tilert.h`. Written by generate.py from the header, which documents them; not by hand.

use crate::*;

extern "C" {
    pub fn tilert_status_name(status: tilert_status) -> *const c_char;
    pub fn tilert_error_status(error: *const tilert_error) -> tilert_status;
    pub fn tilert_error_message(error: *const tilert_error) -> *const c_char;
    pub fn tilert_error_source(error: *const tilert_error) -> *const c_char;
    pub fn tilert_error_log(error: *const tilert_error) -> *const c_char;
    pub fn tilert_error_retain(error: *mut tilert_error);
    pub fn tilert_error_release(error: *mut tilert_error);
    pub fn tilert_version() -> u32;
    pub fn tilert_feature(name: *const c_char, error: *mut *mut tilert_error) -> tilert_status;
    pub fn tilert_dtype_bits(dtype: tilert_dtype) -> u32;
    pub fn tilert_dtype_name(dtype: tilert_dtype) -> *const c_char;
    pub fn tilert_builder_create(name: *const c_char, builder: *mut *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_retain(builder: *mut tilert_builder);
    pub fn tilert_builder_release(builder: *mut tilert_builder);
    pub fn tilert_builder_at(builder: *mut tilert_builder, file: *const c_char, line: u32, label: *const c_char);
    pub fn tilert_builder_status(builder: *const tilert_builder) -> tilert_status;
    pub fn tilert_builder_finish(
        builder: *mut tilert_builder,
        program: *mut *mut tilert_program,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_builder_dim(
        builder: *mut tilert_builder,
        name: *const c_char,
        options: *const tilert_dim_options,
    ) -> tilert_dim;
    pub fn tilert_builder_tensor(
        builder: *mut tilert_builder,
        name: *const c_char,
        access: tilert_access,
        dtype: tilert_dtype,
        shape: *const tilert_expr,
        rank: u32,
        options: *const tilert_tensor_options,
    ) -> tilert_tensor;
    pub fn tilert_builder_scalar(
        builder: *mut tilert_builder,
        name: *const c_char,
        dtype: tilert_dtype,
    ) -> tilert_scalar;
    pub fn tilert_builder_begin_kernel(
        builder: *mut tilert_builder,
        grid: *const tilert_grid,
        block: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_end_kernel(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_tile_cost(
        builder: *mut tilert_builder,
        cost: tilert_expr,
        locality: tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_source_kernel(
        builder: *mut tilert_builder,
        kernel: *const tilert_source_kernel,
    ) -> tilert_status;
    pub fn tilert_builder_buffer(
        builder: *mut tilert_builder,
        scope: tilert_scope,
        dtype: tilert_dtype,
        shape: *const tilert_expr,
        rank: u32,
        options: *const tilert_buffer_options,
    ) -> tilert_buffer;
    pub fn tilert_builder_layout_indices(
        builder: *mut tilert_builder,
        tile: tilert_buffer,
        indices: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_annotate_layout(
        builder: *mut tilert_builder,
        tile: tilert_buffer,
        layout: tilert_layout,
        place: tilert_expr,
        flags: u32,
    ) -> tilert_status;
    pub fn tilert_builder_view(
        builder: *mut tilert_builder,
        tile: tilert_buffer,
        dtype: tilert_dtype,
        shape: *const tilert_expr,
        rank: u32,
    ) -> tilert_buffer;
    pub fn tilert_builder_tensor_reshape(
        builder: *mut tilert_builder,
        tensor: tilert_tensor,
        shape: *const tilert_expr,
        rank: u32,
    ) -> tilert_tensor;
    pub fn tilert_builder_tensor_transpose(
        builder: *mut tilert_builder,
        tensor: tilert_tensor,
        order: *const u32,
        rank: u32,
    ) -> tilert_tensor;
    pub fn tilert_builder_index(builder: *mut tilert_builder, value: i64) -> tilert_expr;
    pub fn tilert_builder_constant(builder: *mut tilert_builder, dtype: tilert_dtype, bits: u64) -> tilert_expr;
    pub fn tilert_builder_literal(builder: *mut tilert_builder, dtype: tilert_dtype, bits: u64) -> tilert_expr;
    pub fn tilert_builder_dim_value(builder: *mut tilert_builder, dim: tilert_dim) -> tilert_expr;
    pub fn tilert_builder_scalar_value(builder: *mut tilert_builder, scalar: tilert_scalar) -> tilert_expr;
    pub fn tilert_builder_op(
        builder: *mut tilert_builder,
        op: tilert_op,
        operands: *const tilert_expr,
        count: u32,
    ) -> tilert_expr;
    pub fn tilert_builder_cast(
        builder: *mut tilert_builder,
        dtype: tilert_dtype,
        x: tilert_expr,
        flags: u32,
    ) -> tilert_expr;
    pub fn tilert_builder_cast_stochastic(
        builder: *mut tilert_builder,
        dtype: tilert_dtype,
        x: tilert_expr,
        random: tilert_expr,
        flags: u32,
    ) -> tilert_expr;
    pub fn tilert_builder_reinterpret(builder: *mut tilert_builder, dtype: tilert_dtype, x: tilert_expr) -> tilert_expr;
    pub fn tilert_builder_fast(builder: *mut tilert_builder, x: tilert_expr) -> tilert_expr;
    pub fn tilert_number_op(
        op: tilert_op,
        operands: *const tilert_number,
        count: u32,
        result: *mut tilert_number,
    ) -> tilert_status;
    pub fn tilert_number_cast(
        dtype: tilert_dtype,
        x: *const tilert_number,
        result: *mut tilert_number,
    ) -> tilert_status;
    pub fn tilert_number_reinterpret(
        dtype: tilert_dtype,
        x: *const tilert_number,
        result: *mut tilert_number,
    ) -> tilert_status;
    pub fn tilert_builder_dtype_of(builder: *mut tilert_builder, x: tilert_expr) -> tilert_dtype;
    pub fn tilert_builder_let(builder: *mut tilert_builder, value: tilert_expr) -> tilert_expr;
    pub fn tilert_builder_load(builder: *mut tilert_builder, element: *const tilert_region) -> tilert_expr;
    pub fn tilert_builder_store(
        builder: *mut tilert_builder,
        element: *const tilert_region,
        value: tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_atomic(
        builder: *mut tilert_builder,
        op: tilert_atomic_op,
        element: *const tilert_region,
        value: tilert_expr,
        options: *const tilert_atomic_options,
        old: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_atomic_tile(
        builder: *mut tilert_builder,
        op: tilert_atomic_op,
        destination: *const tilert_region,
        source: *const tilert_region,
        options: *const tilert_atomic_options,
    ) -> tilert_status;
    pub fn tilert_builder_atomic_load(
        builder: *mut tilert_builder,
        element: *const tilert_region,
        options: *const tilert_atomic_options,
    ) -> tilert_expr;
    pub fn tilert_builder_atomic_store(
        builder: *mut tilert_builder,
        element: *const tilert_region,
        value: tilert_expr,
        options: *const tilert_atomic_options,
    ) -> tilert_status;
    pub fn tilert_builder_random(
        builder: *mut tilert_builder,
        form: tilert_random,
        seed: tilert_expr,
        counter: tilert_expr,
        stream: tilert_expr,
        values: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_print(
        builder: *mut tilert_builder,
        message: *const c_char,
        values: *const tilert_expr,
        count: u32,
    ) -> tilert_status;
    pub fn tilert_builder_print_tile(
        builder: *mut tilert_builder,
        name: *const c_char,
        region: *const tilert_region,
    ) -> tilert_status;
    pub fn tilert_builder_assert(
        builder: *mut tilert_builder,
        condition: tilert_expr,
        message: *const c_char,
        values: *const tilert_expr,
        count: u32,
    ) -> tilert_status;
    pub fn tilert_builder_copy(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
        options: *const tilert_copy_options,
    ) -> tilert_status;
    pub fn tilert_builder_fill(
        builder: *mut tilert_builder,
        destination: *const tilert_region,
        value: tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_clear(builder: *mut tilert_builder, destination: *const tilert_region) -> tilert_status;
    pub fn tilert_builder_gemm(
        builder: *mut tilert_builder,
        a: *const tilert_region,
        b: *const tilert_region,
        c: *const tilert_region,
        options: *const tilert_gemm_options,
    ) -> tilert_status;
    pub fn tilert_builder_reduce(
        builder: *mut tilert_builder,
        op: tilert_reduce_op,
        source: *const tilert_region,
        destination: *const tilert_region,
        dim: u32,
        options: *const tilert_reduce_options,
    ) -> tilert_status;
    pub fn tilert_builder_scan(
        builder: *mut tilert_builder,
        op: tilert_reduce_op,
        source: *const tilert_region,
        destination: *const tilert_region,
        dim: u32,
        options: *const tilert_scan_options,
    ) -> tilert_status;
    pub fn tilert_builder_sort(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
        index: *const tilert_region,
        dim: u32,
        options: *const tilert_sort_options,
    ) -> tilert_status;
    pub fn tilert_builder_begin_combine(
        builder: *mut tilert_builder,
        combine: *const tilert_combine,
        left: *mut tilert_expr,
        right: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_end_combine(
        builder: *mut tilert_builder,
        results: *const tilert_expr,
        count: u32,
    ) -> tilert_status;
    pub fn tilert_builder_gather(
        builder: *mut tilert_builder,
        table: *const tilert_region,
        indices: *const tilert_region,
        destination: *const tilert_region,
        dim: u32,
    ) -> tilert_status;
    pub fn tilert_builder_scatter(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        indices: *const tilert_region,
        destination: *const tilert_region,
        dim: u32,
        options: *const tilert_scatter_options,
    ) -> tilert_status;
    pub fn tilert_builder_transpose(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
        order: *const u32,
        rank: u32,
    ) -> tilert_status;
    pub fn tilert_builder_begin_parallel(
        builder: *mut tilert_builder,
        extents: *const tilert_expr,
        rank: u32,
        indices: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_end_parallel(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_serial(
        builder: *mut tilert_builder,
        kind: tilert_loop,
        begin: tilert_expr,
        end: tilert_expr,
        step: tilert_expr,
        index: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_end_serial(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_pipelined(
        builder: *mut tilert_builder,
        extent: tilert_expr,
        stages: u32,
        index: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_end_pipelined(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_while(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_while_body(builder: *mut tilert_builder, condition: tilert_expr) -> tilert_status;
    pub fn tilert_builder_end_while(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_break(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_continue(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_return(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_grid_sync(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_if(builder: *mut tilert_builder, condition: tilert_expr) -> tilert_status;
    pub fn tilert_builder_begin_else(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_end_if(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_begin_threads(builder: *mut tilert_builder, thread: *mut tilert_expr) -> tilert_status;
    pub fn tilert_builder_end_threads(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_thread_id(builder: *mut tilert_builder) -> tilert_expr;
    pub fn tilert_builder_shuffle(
        builder: *mut tilert_builder,
        kind: tilert_shuffle,
        value: tilert_expr,
        lane: tilert_expr,
        width: u32,
    ) -> tilert_expr;
    pub fn tilert_builder_vote(builder: *mut tilert_builder, kind: tilert_vote, predicate: tilert_expr) -> tilert_expr;
    pub fn tilert_builder_sync_threads(builder: *mut tilert_builder, barrier: u32, threads: u32) -> tilert_status;
    pub fn tilert_builder_fence(builder: *mut tilert_builder, scope: tilert_order_scope) -> tilert_status;
    pub fn tilert_builder_copy_async(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
        count: u32,
    ) -> tilert_status;
    pub fn tilert_builder_commit_copies(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_wait_copies(builder: *mut tilert_builder, pending: u32) -> tilert_status;
    pub fn tilert_builder_barriers(
        builder: *mut tilert_builder,
        count: u32,
        arrivals: u32,
        options: *const tilert_buffer_options,
    ) -> tilert_buffer;
    pub fn tilert_builder_arrive(builder: *mut tilert_builder, barrier: *const tilert_region) -> tilert_status;
    pub fn tilert_builder_arrive_expect(
        builder: *mut tilert_builder,
        barrier: *const tilert_region,
        bytes: u32,
    ) -> tilert_status;
    pub fn tilert_builder_wait_barrier(
        builder: *mut tilert_builder,
        barrier: *const tilert_region,
        phase: tilert_expr,
    ) -> tilert_status;
    pub fn tilert_builder_load_tensor(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
        barrier: *const tilert_region,
    ) -> tilert_status;
    pub fn tilert_builder_store_tensor(
        builder: *mut tilert_builder,
        source: *const tilert_region,
        destination: *const tilert_region,
    ) -> tilert_status;
    pub fn tilert_builder_commit_stores(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_wait_stores(
        builder: *mut tilert_builder,
        pending: u32,
        state: tilert_stores_state,
    ) -> tilert_status;
    pub fn tilert_builder_commit_products(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_wait_products(builder: *mut tilert_builder, pending: u32) -> tilert_status;
    pub fn tilert_builder_begin_roles(
        builder: *mut tilert_builder,
        options: *const tilert_roles_options,
    ) -> tilert_status;
    pub fn tilert_builder_begin_role(builder: *mut tilert_builder, role: tilert_role) -> tilert_status;
    pub fn tilert_builder_end_role(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_end_roles(builder: *mut tilert_builder) -> tilert_status;
    pub fn tilert_builder_inline_source(
        builder: *mut tilert_builder,
        source: *const tilert_inline_source,
    ) -> tilert_status;
    pub fn tilert_builder_device_function(
        builder: *mut tilert_builder,
        function: *const tilert_device_function,
    ) -> tilert_function;
    pub fn tilert_builder_call_device(
        builder: *mut tilert_builder,
        function: tilert_function,
        operands: *const tilert_operand,
        count: u32,
        result: *mut tilert_expr,
    ) -> tilert_status;
    pub fn tilert_program_retain(program: *mut tilert_program);
    pub fn tilert_program_release(program: *mut tilert_program);
    pub fn tilert_program_parse(
        text: *const c_char,
        size: usize,
        name: *const c_char,
        flags: u32,
        program: *mut *mut tilert_program,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_program_text(
        program: *mut tilert_program,
        text: *mut *const c_char,
        size: *mut usize,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_program_hash(
        program: *mut tilert_program,
        hash: *mut *const c_char,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_program_has_source(program: *const tilert_program) -> c_int;
    pub fn tilert_program_parameter_count(program: *const tilert_program) -> u32;
    pub fn tilert_program_parameter(
        program: *const tilert_program,
        index: u32,
        info: *mut tilert_parameter_info,
    ) -> tilert_status;
    pub fn tilert_program_dim_count(program: *const tilert_program) -> u32;
    pub fn tilert_program_dim_name(program: *const tilert_program, index: u32) -> *const c_char;
    pub fn tilert_program_interpret(
        program: *mut tilert_program,
        arguments: *const tilert_argument,
        argument_count: u32,
        dims: *const i64,
        dim_count: u32,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_program_interpret_diagnosed(
        program: *mut tilert_program,
        arguments: *const tilert_argument,
        argument_count: u32,
        dims: *const i64,
        dim_count: u32,
        on_entry: tilert_on_diagnostic,
        user: *mut c_void,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_context_create(
        options: *const tilert_context_options,
        context: *mut *mut tilert_context,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_context_retain(context: *mut tilert_context);
    pub fn tilert_context_release(context: *mut tilert_context);
    pub fn tilert_context_seal(context: *mut tilert_context) -> tilert_status;
    pub fn tilert_context_stats(context: *mut tilert_context, stats: *mut tilert_stats) -> tilert_status;
    pub fn tilert_commit(context: *mut tilert_context, error: *mut *mut tilert_error) -> tilert_status;
    pub fn tilert_bundle_write(
        context: *mut tilert_context,
        kernels: *const *mut tilert_kernel,
        count: u32,
        path: *const c_char,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_bundle_load(
        context: *mut tilert_context,
        path: *const c_char,
        flags: u32,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_device_open(
        context: *mut tilert_context,
        options: *const tilert_device_options,
        device: *mut *mut tilert_device,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_device_retain(device: *mut tilert_device);
    pub fn tilert_device_release(device: *mut tilert_device);
    pub fn tilert_device_get_info(device: *mut tilert_device, info: *mut tilert_device_info) -> tilert_status;
    pub fn tilert_trim(device: *mut tilert_device, unloaded: *mut u32, error: *mut *mut tilert_error) -> tilert_status;
    pub fn tilert_recommend_product(
        product: *const tilert_product,
        choices: *mut tilert_product_choice,
        count: *mut u32,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_kernel_create(
        context: *mut tilert_context,
        program: *mut tilert_program,
        options: *const tilert_kernel_options,
        kernel: *mut *mut tilert_kernel,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_kernel_retain(kernel: *mut tilert_kernel);
    pub fn tilert_kernel_release(kernel: *mut tilert_kernel);
    pub fn tilert_kernel_compile(kernel: *mut tilert_kernel, error: *mut *mut tilert_error) -> tilert_status;
    pub fn tilert_kernel_variant_count(kernel: *mut tilert_kernel) -> u32;
    pub fn tilert_kernel_variant(
        kernel: *mut tilert_kernel,
        index: u32,
        variant: *mut *mut tilert_variant,
    ) -> tilert_status;
    pub fn tilert_variant_retain(variant: *mut tilert_variant);
    pub fn tilert_variant_release(variant: *mut tilert_variant);
    pub fn tilert_variant_get_info(variant: *mut tilert_variant, info: *mut tilert_variant_info) -> tilert_status;
    pub fn tilert_variant_text(
        variant: *mut tilert_variant,
        stage: *const c_char,
        text: *mut *const c_char,
        size: *mut usize,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_variant_explain(
        variant: *mut tilert_variant,
        format: tilert_explain_format,
        text: *mut *const c_char,
        size: *mut usize,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_variant_binary(
        variant: *mut tilert_variant,
        data: *mut *const c_void,
        size: *mut usize,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_prepare(
        kernel: *mut tilert_kernel,
        device: *mut tilert_device,
        options: *const tilert_prepare_options,
        loaded: *mut *mut tilert_loaded,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_loaded_retain(loaded: *mut tilert_loaded);
    pub fn tilert_loaded_release(loaded: *mut tilert_loaded);
    pub fn tilert_prepare_submit(
        kernel: *mut tilert_kernel,
        device: *mut tilert_device,
        options: *const tilert_prepare_options,
        job: *mut *mut tilert_job,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_job_poll(job: *mut tilert_job) -> tilert_status;
    pub fn tilert_job_wait(job: *mut tilert_job, timeout: u64) -> tilert_status;
    pub fn tilert_job_cancel(job: *mut tilert_job) -> tilert_status;
    pub fn tilert_job_result(
        job: *mut tilert_job,
        loaded: *mut *mut tilert_loaded,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_job_retain(job: *mut tilert_job);
    pub fn tilert_job_release(job: *mut tilert_job);
    pub fn tilert_launch(info: *const tilert_launch_info) -> tilert_status;
    pub fn tilert_launch_export(info: *const tilert_launch_info, record: *mut tilert_launch_record) -> tilert_status;
    pub fn tilert_unpin(loaded: *mut tilert_loaded, error: *mut *mut tilert_error) -> tilert_status;
    pub fn tilert_workspace(
        variant: *mut tilert_variant,
        max_dims: *const i64,
        dim_count: u32,
        info: *mut tilert_workspace_info,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_plan(
        loaded: *mut tilert_loaded,
        dims: *const i64,
        dim_count: u32,
        max_blocks: u32,
        buffer: *mut c_void,
        bytes: *mut u64,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
    pub fn tilert_plan_launch(info: *const tilert_launch_info) -> tilert_status;
    pub fn tilert_diagnostics_read(
        loaded: *mut tilert_loaded,
        workspace: *const c_void,
        bytes: u64,
        on_entry: tilert_on_diagnostic,
        user: *mut c_void,
        error: *mut *mut tilert_error,
    ) -> tilert_status;
}
