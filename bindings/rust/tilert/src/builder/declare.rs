//! Declarations: dims, parameters, constants, storage, views.

use tilert_sys as sys;

use super::{
    list, pointer, Access, Builder, Dim, DimOptions, Expr, Indices, Layout, Scope, TensorOptions, Tile, Value,
};
use super::{Values, Var, NO_EXPR};
use crate::dtype::{DType, Element};

impl<'b> Builder<'b> {
    /// A named size, shared by the tensors that use it.
    #[track_caller]
    pub fn dim(self, name: &str) -> Dim<'b> {
        self.dim_with(name, DimOptions::new())
    }

    /// Several at once: `let [m, n, k] = b.dims(["M", "N", "K"]);`.
    #[track_caller]
    pub fn dims<const N: usize>(self, names: [&str; N]) -> [Dim<'b>; N] {
        self.at();
        names.map(|name| self.declare_dim(name, &DimOptions::new()))
    }

    /// One with buckets, or whose values are multiples.
    #[track_caller]
    pub fn dim_with(self, name: &str, options: DimOptions) -> Dim<'b> {
        self.at();
        self.declare_dim(name, &options)
    }

    fn declare_dim(self, name: &str, options: &DimOptions) -> Dim<'b> {
        let name = self.text(name, "a dim's name");
        let raw = sys::tilert_dim_options {
            bucket_count: options.buckets.len() as u32,
            buckets: list(&options.buckets),
            divisible: options.divisible,
            ..Default::default()
        };
        // SAFETY: strings and lists that live through the calls, which copy them.
        let id = unsafe {
            let dim = sys::tilert_builder_dim(self.raw(), name.as_ptr(), &raw);
            sys::tilert_builder_dim_value(self.raw(), dim)
        };
        Dim::new(Expr::new(self, id), self.next_dim())
    }

    /// A tensor parameter that is read. `shape` is of numbers and dims.
    #[track_caller]
    pub fn input(self, name: &str, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.tensor(name, Access::In, dtype, shape, TensorOptions::new())
    }

    /// A tensor parameter that is written.
    #[track_caller]
    pub fn output(self, name: &str, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.tensor(name, Access::Out, dtype, shape, TensorOptions::new())
    }

    /// A tensor parameter that is read and written.
    #[track_caller]
    pub fn inout(self, name: &str, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.tensor(name, Access::InOut, dtype, shape, TensorOptions::new())
    }

    /// A tensor parameter with options.
    #[track_caller]
    pub fn tensor(
        self,
        name: &str,
        access: Access,
        dtype: DType,
        shape: impl Values<'b>,
        options: TensorOptions,
    ) -> Tile<'b> {
        let shape = shape.ids(self);
        let name = self.text(name, "a parameter's name");
        self.at();
        let raw = sys::tilert_tensor_options {
            flags: options.flags,
            alignment: options.alignment,
            strides: list(&options.strides),
            stride_count: options.strides.len() as u32,
            ..Default::default()
        };
        // SAFETY: strings and lists that live through the call, which copies them.
        let id = unsafe {
            sys::tilert_builder_tensor(
                self.raw(),
                name.as_ptr(),
                access as i32,
                dtype as i32,
                list(&shape),
                shape.len() as u32,
                &raw,
            )
        };
        Tile::of_tensor(self, id)
    }

    /// A scalar parameter, passed by value at launch.
    #[track_caller]
    pub fn scalar(self, name: &str, dtype: DType) -> Expr<'b> {
        let name = self.text(name, "a parameter's name");
        self.at();
        // SAFETY: as above.
        let id = unsafe {
            let scalar = sys::tilert_builder_scalar(self.raw(), name.as_ptr(), dtype as i32);
            sys::tilert_builder_scalar_value(self.raw(), scalar)
        };
        Expr::new(self, id)
    }

    /// A number of this dtype: `b.constant(F32, 1.0)`.
    #[track_caller]
    pub fn constant(self, dtype: DType, number: impl Value<'b>) -> Expr<'b> {
        let number = number.id(self);
        self.at();
        // SAFETY: a live builder and an id of it.
        Expr::new(self, unsafe { sys::tilert_builder_cast(self.raw(), dtype as i32, number, 0) })
    }

    /// A constant by its bits.
    pub fn bits<T: Element>(self, value: T) -> Expr<'b> {
        // SAFETY: a live builder.
        Expr::new(self, unsafe { sys::tilert_builder_constant(self.raw(), T::DTYPE as i32, value.bits()) })
    }

    /// A constant of dtype index.
    pub fn index(self, value: i64) -> Expr<'b> {
        // SAFETY: a live builder.
        Expr::new(self, unsafe { sys::tilert_builder_index(self.raw(), value) })
    }

    /// A number as a value of this builder: a literal, which adopts the dtype of what it meets.
    #[track_caller]
    pub fn literal(self, number: impl Value<'b>) -> Expr<'b> {
        Expr::new(self, number.id(self))
    }

    /// A tile that all threads of the block see.
    #[track_caller]
    pub fn shared(self, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.buffer(Scope::Shared, dtype, shape, Layout::Auto)
    }

    /// A tile spread over the block's registers.
    #[track_caller]
    pub fn fragment(self, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.buffer(Scope::Fragment, dtype, shape, Layout::Auto)
    }

    /// An array: outside `parallel` one per block, inside private to the iteration.
    #[track_caller]
    pub fn local(self, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        self.buffer(Scope::Local, dtype, shape, Layout::Auto)
    }

    /// A tile of any scope, with a hint of its layout.
    #[track_caller]
    pub fn buffer(self, scope: Scope, dtype: DType, shape: impl Values<'b>, layout: Layout) -> Tile<'b> {
        self.storage(scope as i32, dtype, &shape.ids(self), layout)
    }

    /// A variable of one element.
    #[track_caller]
    pub fn var(self, dtype: DType) -> Var<'b> {
        Var(self.storage(sys::TILERT_VAR, dtype, &[], Layout::Auto))
    }

    #[track_caller]
    fn storage(self, scope: sys::tilert_scope, dtype: DType, shape: &[sys::tilert_expr], layout: Layout) -> Tile<'b> {
        let name = self.take_name();
        self.at();
        let raw = sys::tilert_buffer_options { layout: layout as i32, name: pointer(&name), ..Default::default() };
        // SAFETY: strings and lists that live through the call, which copies them.
        let id = unsafe {
            sys::tilert_builder_buffer(self.raw(), scope, dtype as i32, list(shape), shape.len() as u32, &raw)
        };
        Tile::of_buffer(self, id)
    }

    /// Where a shared tile's elements shall lie. A hint; `must`: not met is an error that says why.
    #[track_caller]
    pub fn annotate_layout(self, tile: Tile<'b>, layout: Layout, must: bool) {
        self.at();
        // SAFETY: a live builder and an id of it.
        unsafe {
            sys::tilert_builder_annotate_layout(self.raw(), tile.buffer, layout as i32, NO_EXPR, must_flag(must))
        };
    }

    /// The same by a place of one's own, counted in elements, of an element's `N` indices.
    #[track_caller]
    pub fn annotate_places<const N: usize, V: Value<'b>>(
        self,
        tile: Tile<'b>,
        must: bool,
        f: impl FnOnce([Expr<'b>; N]) -> V,
    ) {
        self.at();
        // As many as a tile has dims, whatever N is.
        let mut ids = [NO_EXPR; 8];
        // SAFETY: room for the indices of any tile.
        unsafe { sys::tilert_builder_layout_indices(self.raw(), tile.buffer, ids.as_mut_ptr()) };
        if N > ids.len() {
            return self.refuse(format!("annotate_places of {} indices: tiles have at most {} dims", N, ids.len()));
        }
        let place = f(Indices::made(self, &ids)).id(self);
        // SAFETY: a live builder and ids of it.
        unsafe {
            sys::tilert_builder_annotate_layout(
                self.raw(),
                tile.buffer,
                sys::TILERT_LAYOUT_CUSTOM,
                place,
                must_flag(must),
            )
        };
    }

    /// The same bytes of a tile as another element type, with as many elements in the last dim as have them.
    #[track_caller]
    pub fn view(self, tile: Tile<'b>, dtype: DType) -> Tile<'b> {
        self.at();
        // SAFETY: a live builder and an id of it.
        let id = unsafe { sys::tilert_builder_view(self.raw(), tile.buffer, dtype as i32, std::ptr::null(), 0) };
        Tile::of_buffer(self, id)
    }

    /// The same with a shape.
    #[track_caller]
    pub fn view_as(self, tile: Tile<'b>, dtype: DType, shape: impl Values<'b>) -> Tile<'b> {
        let shape = shape.ids(self);
        self.at();
        // SAFETY: a live builder and ids of it.
        let id = unsafe {
            sys::tilert_builder_view(self.raw(), tile.buffer, dtype as i32, list(&shape), shape.len() as u32)
        };
        Tile::of_buffer(self, id)
    }

    /// A tile or parameter with another shape: the same memory.
    #[track_caller]
    pub fn reshape(self, tile: Tile<'b>, shape: impl Values<'b>) -> Tile<'b> {
        let shape = shape.ids(self);
        self.at();
        let count = shape.len() as u32;
        // SAFETY: a live builder and ids of it.
        unsafe {
            if tile.buffer.serial != 0 {
                let id = sys::tilert_builder_view(self.raw(), tile.buffer, 0, list(&shape), count);
                return Tile::of_buffer(self, id);
            }
            Tile::of_tensor(self, sys::tilert_builder_tensor_reshape(self.raw(), tile.tensor, list(&shape), count))
        }
    }

    /// A parameter whose dims have changed places: dim d is dim `order[d]`; of none the two last change places.
    #[track_caller]
    pub fn transposed(self, parameter: Tile<'b>, order: &[u32]) -> Tile<'b> {
        self.at();
        // SAFETY: a live builder, an id of it and a list.
        let id = unsafe {
            sys::tilert_builder_tensor_transpose(self.raw(), parameter.tensor, list(order), order.len() as u32)
        };
        Tile::of_tensor(self, id)
    }
}

fn must_flag(must: bool) -> u32 {
    if must {
        sys::TILERT_LAYOUT_MUST
    } else {
        0
    }
}
