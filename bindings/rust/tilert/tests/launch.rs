//! Compiling and launching on this machine's CPU: arguments, refusals, bound launches, workspaces, plans, variants.

mod common;

use tilert::prelude::*;
use tilert::{Attribute, ContextOptions, LaunchOptions, Product, ProductPath, Record, Status, TensorOptions};

#[test]
fn a_launch_takes_dims_from_shapes_or_by_ordinal() {
    let (context, device) = common::cpu();
    let loaded = context.kernel(&common::axpy()).unwrap().prepare(&device).unwrap();
    let (x, y, mut z) = (vec![1f32; 100], vec![2f32; 100], vec![0f32; 100]);
    for dims in [&[][..], &[(0, 100)]] {
        z.fill(0.0);
        let arguments =
            [input(&x, &[100]).unwrap(), input(&y, &[100]).unwrap(), output(&mut z, &[100]).unwrap(), 4f32.into()];
        loaded.launch(Stream::null(), &arguments, dims).unwrap();
        assert_eq!(z, vec![6f32; 100]);
    }
    // No elements: no address, and nothing to do.
    let arguments =
        [input(&x[..0], &[0]).unwrap(), input(&y[..0], &[0]).unwrap(), output(&mut z[..0], &[0]).unwrap(), 4f32.into()];
    loaded.launch(Stream::null(), &arguments, &[]).unwrap();
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (context, device) = common::cpu();
    let loaded = context.kernel(&common::axpy()).unwrap().prepare(&device).unwrap();
    let (x, short, mut z) = (vec![1f32; 32], vec![1f32; 16], vec![0f32; 32]);
    let refused = |arguments: &[Argument<'_>], dims: &[(u32, i64)]| {
        let launched = loaded.launch(Stream::null(), arguments, dims).unwrap_err();
        let interpreted = loaded.kernel().program().interpret(arguments, dims).unwrap_err();
        assert_eq!(launched.status(), interpreted.status(), "{}\n{}", launched, interpreted);
        launched
    };
    let of = |x| input(x, &[32]).unwrap();
    // A shape that is not the others'.
    let error = refused(&[of(&x), input(&short, &[16]).unwrap(), output(&mut z, &[32]).unwrap(), 1f32.into()], &[]);
    assert_eq!((error.status(), error.argument()), (Status::Shape, Some(1)), "{}", error);
    // A dim that is not the shapes'.
    let error = refused(&[of(&x), of(&x), output(&mut z, &[32]).unwrap(), 1f32.into()], &[(0, 33)]);
    assert_eq!(error.status(), Status::Shape);
    // A type that is not the parameter's.
    let ints = vec![0i32; 32];
    let error = refused(&[of(&x), input(&ints, &[32]).unwrap(), output(&mut z, &[32]).unwrap(), 1f32.into()], &[]);
    assert_eq!((error.status(), error.argument()), (Status::Shape, Some(1)), "{}", error);
    // An output that is only read, a dim that is not there, too few arguments.
    let error = refused(&[of(&x), of(&x), of(&x), 1f32.into()], &[]);
    assert_eq!((error.status(), error.argument()), (Status::InvalidArgument, Some(2)), "{}", error);
    let error = refused(&[of(&x), of(&x), output(&mut z, &[32]).unwrap(), 1f32.into()], &[(1, 32)]);
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(refused(&[of(&x)], &[]).status(), Status::InvalidArgument);
    // More than a launch on the stack takes.
    let many: Vec<_> = (0..65).map(|_| of(&x)).collect();
    let error = loaded.launch(Stream::null(), &many, &[]).unwrap_err();
    assert!(error.message().contains("bind"), "{}", error);
}

#[test]
fn a_misaligned_slice_is_refused_and_names_its_argument() {
    let (context, device) = common::cpu();
    let loaded = context.kernel(&common::axpy()).unwrap().prepare(&device).unwrap();
    let (x, mut z) = (vec![1f32; 33], vec![0f32; 32]);
    let arguments =
        [input(&x[1..], &[32]).unwrap(), input(&x[..32], &[32]).unwrap(), output(&mut z, &[32]).unwrap(), 1f32.into()];
    let error = loaded.launch(Stream::null(), &arguments, &[]).unwrap_err();
    assert_eq!((error.status(), error.argument()), (Status::Alignment, Some(0)), "{}", error);
}

#[test]
fn a_bound_launch_runs_again_with_new_data_and_scalars() {
    let (context, device) = common::cpu();
    let loaded = context.kernel(&common::axpy()).unwrap().prepare(&device).unwrap();
    let (mut x, y, mut z) = (vec![1f32; 64], vec![2f32; 64], vec![0f32; 64]);
    let mut record = Record::new(4).unwrap();
    let options = LaunchOptions::new().record(&mut record).attribute(Attribute::Priority(0));
    let arguments = vec![
        output(&mut x, &[64]).unwrap(),
        input(&y, &[64]).unwrap(),
        output(&mut z, &[64]).unwrap(),
        Argument::scalar(1f32),
    ];
    let mut launch = loaded.bind_with(arguments, &[], options).unwrap();
    launch.run(Stream::null()).unwrap();
    assert_eq!(launch.slice::<f32>(2).unwrap(), [3f32; 64]);
    launch.slice_mut::<f32>(0).unwrap().fill(5.0);
    launch.set_scalar(3, 2f32).unwrap();
    launch.run(Stream::null()).unwrap();
    assert_eq!(launch.slice::<f32>(2).unwrap(), [12f32; 64]);
    // A borrow that is only read is not lent out to be written, nor as another type.
    assert!(
        launch.slice_mut::<f32>(1).is_none() && launch.slice::<i32>(1).is_none() && launch.slice::<f32>(3).is_none()
    );
    assert_eq!(launch.set_scalar(0, 2f32).unwrap_err().status(), Status::InvalidArgument);
    launch.set_dim(0, 65).unwrap();
    let error = launch.run(Stream::null()).unwrap_err();
    assert_eq!(error.status(), Status::Shape);
    launch.set_dim(0, 64).unwrap();
    let other = vec![7f32; 64];
    launch.set(1, input(&other, &[64]).unwrap()).unwrap();
    launch.run(Stream::null()).unwrap();
    assert_eq!(launch.slice::<f32>(2).unwrap(), [17f32; 64]);
    let exported = launch.export(0).unwrap();
    assert_eq!((exported.grid, exported.kernel_count), ([1, 1, 1], 1));
    assert_eq!(exported.parameters.len() as u32 > 0, !exported.parameter_offsets.is_empty());
}

#[test]
fn a_workspace_is_of_its_kernel() {
    let meeting = |name: &str| {
        tilert::build(name, |b| {
            let (x, y) = (b.inout("X", I32, 4), b.output("Y", I32, 4));
            b.grid(4, |block| {
                x.at(block).set(block.cast(I32) + 1);
                b.grid_sync();
                y.at(block).set(x.at(3 - block));
            });
        })
        .unwrap()
    };
    let (context, device) = common::cpu();
    let loaded = context.kernel(&meeting("one")).unwrap().prepare(&device).unwrap();
    let (mut x, mut y) = (vec![0i32; 4], vec![0i32; 4]);
    let arguments = [output(&mut x, &[4]).unwrap(), output(&mut y, &[4]).unwrap()];
    assert!(loaded.launch(Stream::null(), &arguments, &[]).is_err(), "it needs a workspace");
    let mut workspace = loaded.workspace(&[]).unwrap();
    for _ in 0..3 {
        let mut options = LaunchOptions::new().workspace(&mut workspace);
        loaded.launch_with(Stream::null(), &arguments, &[], &mut options).unwrap();
    }
    let other = context.kernel(&meeting("two")).unwrap().prepare(&device).unwrap();
    let mut options = LaunchOptions::new().workspace(&mut workspace);
    let error = other.launch_with(Stream::null(), &arguments, &[], &mut options).unwrap_err();
    assert!(error.message().contains("another kernel"), "{}", error);
    assert_eq!(y, vec![4, 3, 2, 1]);
}

#[test]
fn a_planned_schedule_changes_no_value() {
    let program = tilert::build("planned", |b| {
        let n = b.dim("N");
        let y = b.output("Y", I32, n);
        b.grid_with(n, Hints::new().persistent(), |tile| {
            b.tile_cost(tile + 1);
            y.at(tile).set(tile.cast(I32) * 3);
        });
    })
    .unwrap();
    let (context, device) = common::cpu();
    let loaded = context.kernel(&program).unwrap().prepare(&device).unwrap();
    let mut workspace = loaded.workspace(&[(0, 50)]).unwrap();
    if !loaded.plan(&[(0, 50)], 0).unwrap().is_empty() {
        workspace.follow(&[(0, 50)], 0).unwrap();
    }
    let mut y = vec![0i32; 50];
    {
        let mut options = LaunchOptions::new();
        if workspace.info().bytes != 0 {
            options = options.workspace(&mut workspace);
        }
        let mut launch = loaded.bind_with(vec![output(&mut y, &[50]).unwrap()], &[], options).unwrap();
        launch.plan(Stream::null()).unwrap();
        launch.run(Stream::null()).unwrap();
    }
    assert!(y.iter().enumerate().all(|(i, v)| *v == 3 * i as i32));
}

#[test]
fn a_pointer_table_is_followed() {
    let program = tilert::build("table", |b| {
        let e = b.dim("E");
        let table = b.tensor("T", tilert::Access::In, F32, (e, 16), TensorOptions::new().pointer_table());
        let y = b.output("Y", F32, (e, 16));
        b.grid(e, |g| b.parallel(16, |i| y.at((g, i)).set(table.at((g, i)))));
    })
    .unwrap();
    let (context, device) = common::cpu();
    let loaded = context.kernel(&program).unwrap().prepare(&device).unwrap();
    let (one, two, mut y) = (vec![1f32; 16], vec![2f32; 16], vec![0f32; 32]);
    let pointers = [one.as_ptr(), two.as_ptr()];
    // SAFETY: two pointers to 16 numbers each, which live through the launch.
    let table = unsafe { Argument::pointer_table(pointers.as_ptr() as *const _) };
    loaded.launch(Stream::null(), &[table, output(&mut y, &[2, 16]).unwrap()], &[(0, 2)]).unwrap();
    assert_eq!((y[0], y[16]), (1.0, 2.0));
    let tensor = vec![0f32; 32];
    let arguments = [input(&tensor, &[2, 16]).unwrap(), output(&mut y, &[2, 16]).unwrap()];
    let error = loaded.launch(Stream::null(), &arguments, &[]).unwrap_err();
    assert!(error.message().contains("pointer_table"), "{}", error);
}

#[test]
fn variants_tell_what_they_are() {
    let (context, _) = common::cpu();
    let options = KernelOptions::new().target("cpu:x86-64").range("N", 1, 64).range("N", 65, 4096);
    let kernel = context.kernel_with(&common::axpy(), &options).unwrap();
    assert_eq!(kernel.variants().len(), 2);
    let variant = kernel.variant(1).unwrap();
    assert!(!variant.info().unwrap().compiled);
    assert_eq!(variant.binary().unwrap_err().status(), Status::NotReady);
    assert!(kernel.variant(2).is_err());
    kernel.compile().unwrap();
    let info = variant.info().unwrap();
    assert!(info.compiled && info.target == "cpu:x86-64" && info.request_key.len() == 64);
    assert!(info.conditions.contains("65"), "{}", info.conditions);
    assert_eq!(variant.binary().unwrap().len() as u64, info.binary_bytes);
    assert!(variant.text(None).unwrap().contains("define"), "LLVM IR");
    assert!(variant.text(Some("specialized")).unwrap().contains("axpy"));
    assert!(variant.text(Some("no such stage")).is_err());
    assert!(!variant.explain().unwrap().is_empty() && variant.explain_json().unwrap().starts_with('{'));
}

#[test]
fn a_sealed_context_compiles_no_more() {
    let (context, device) = common::cpu();
    let before = context.kernel(&common::axpy()).unwrap();
    before.prepare(&device).unwrap();
    context.seal();
    before.prepare(&device).unwrap();
    let error = context.kernel(&common::shifted(9)).unwrap().prepare(&device).unwrap_err();
    assert_eq!(error.status(), Status::Sealed);
    assert_eq!(context.stats().sealed_misses, 1);
    assert!(device.trim().is_ok());
    assert!(device.info().unwrap().target.starts_with("cpu"));
}

#[test]
fn a_debug_kernel_tells_where_it_leaves_a_tile() {
    let program = tilert::build("leaving", |b| {
        let (x, y) = (b.input("X", I32, 8), b.output("Y", I32, 8));
        b.grid(1, |_| {
            let t = b.shared(I32, 8);
            b.copy(x, t);
            b.parallel(8, |i| y.at(i).set(t.at(x.at(i).cast(Index))));
        });
    })
    .unwrap();
    let (context, device) = common::cpu();
    let kernel = context.kernel_with(&program, &KernelOptions::new().debug()).unwrap();
    let loaded = kernel.prepare(&device).unwrap();
    let (x, mut y) = (vec![0, 1, 2, 3, 4, 5, 6, 800], vec![0; 8]);
    let mut workspace = loaded.workspace(&[]).unwrap();
    let arguments = [input(&x, &[8]).unwrap(), output(&mut y, &[8]).unwrap()];
    let mut options = LaunchOptions::new().workspace(&mut workspace);
    loaded.launch_with(Stream::null(), &arguments, &[], &mut options).unwrap();
    let told = loaded.diagnostics(&workspace).unwrap();
    assert!(told.len() == 1 && told[0].failed, "{:?}", told);
}

#[test]
fn source_text_needs_a_context_that_allows_it() {
    let program = tilert::build("sourced", |b| {
        let y = b.output("Y", F32, 8);
        b.grid(1, |_| b.inline_source("llvm", "store float 1.0, ptr $0", &[y.at(0)], ()));
    })
    .unwrap();
    assert!(program.has_source());
    let text = program.text().unwrap();
    assert_eq!(Program::parse(&text, None).unwrap_err().status(), Status::SourceRefused);
    let (context, _) = common::cpu();
    assert_eq!(context.kernel(&program).unwrap_err().status(), Status::SourceRefused);
    // SAFETY: the text above.
    let options: ContextOptions = unsafe { common::options().allow_source() };
    let context = Context::with(options).unwrap();
    let loaded = context.kernel(&Program::parse_source(&text, None).unwrap()).unwrap();
    let loaded = loaded.prepare(&context.cpu().unwrap()).unwrap();
    let mut y = tilert::Host::<f32>::zeros(8).unwrap();
    loaded.launch(Stream::null(), &[y.output(&[8]).unwrap()], &[]).unwrap();
    assert_eq!(y[0], 1.0);
}

#[test]
fn what_this_version_refuses_says_what_to_do_instead() {
    let (context, device) = common::cpu();
    let kernel = context.kernel(&common::axpy()).unwrap();
    for error in [
        kernel.submit(&device).err().unwrap(),
        context.commit().unwrap_err(),
        context.write_bundle(&[&kernel], "a").unwrap_err(),
        context.load_bundle("a").unwrap_err(),
    ] {
        assert_eq!(error.status(), Status::Unsupported);
        assert!(error.message().len() > 20, "{}", error);
    }
    assert!(tilert::feature("reduce").is_ok());
    assert_eq!(tilert::feature("teleport").unwrap_err().status(), Status::InvalidArgument);
    let (major, minor, patch) = tilert::version();
    assert_eq!(format!("{}.{}.{}", major, minor, patch), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_product_has_a_recommendation() {
    let choices = tilert::recommend_product(&Product::new(4096, 4096, 4096, Bf16), 3).unwrap();
    assert!(choices.len() > 1 && choices.len() <= 3);
    assert_eq!(choices[0].path, ProductPath::Warpgroup);
    assert!(choices[0].predicted_nanoseconds <= choices[1].predicted_nanoseconds);
    let cpu = Product { target: Some("cpu".into()), ..Product::new(64, 64, 64, F32) };
    assert_eq!(tilert::recommend_product(&cpu, 1).unwrap_err().status(), Status::Unsupported);
}

#[test]
fn a_dlpack_tensor_is_an_argument() {
    use tilert::dlpack::{argument, DlDataType, DlDevice, DlTensor};
    let (mut x, mut y) = (vec![1f32; 260], vec![0f32; 256]);
    x[4..].fill(3.0);
    let mut shape = [256i64];
    let tensor = DlTensor {
        data: x.as_mut_ptr() as *mut _,
        device: DlDevice { device_type: 1, device_id: 0 },
        ndim: 1,
        dtype: DlDataType { code: 2, bits: 32, lanes: 1 },
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 16,
    };
    let (context, device) = common::cpu();
    let loaded = context.kernel(&common::shifted(1)).unwrap().prepare(&device).unwrap();
    // SAFETY: memory of this test, as large as it says.
    let given = unsafe { argument(&tensor) }.unwrap();
    loaded.launch(Stream::null(), &[given, output(&mut y, &[256]).unwrap()], &[]).unwrap();
    assert_eq!(y, vec![4f32; 256]);
    let wrong = DlTensor { dtype: DlDataType { code: 5, bits: 64, lanes: 1 }, ..tensor };
    assert!(unsafe { argument(&wrong) }.is_err());
}
