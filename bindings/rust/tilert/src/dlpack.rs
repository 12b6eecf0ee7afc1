//! Tensors of others, by DLPack's struct: what `torch`, NumPy and others hand over.

use crate::argument::Argument;
use crate::dtype::DType;
use crate::error::{Error, Result, Status};
use crate::sys::{self, c_void};

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DlDevice {
    /// As DLPack numbers kinds of memory, which tilert does, too: 1 CPU, 2 CUDA, 3 pinned, 10 ROCm, ...
    pub device_type: i32,
    /// The device's number.
    pub device_id: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DlDataType {
    /// 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 7 to 17 narrow floats.
    pub code: u8,
    /// Of one lane.
    pub bits: u8,
    /// 1; of packed types 1, too.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DlTensor {
    /// The allocation.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DlDevice,
    /// Dims.
    pub ndim: i32,
    /// The element type.
    pub dtype: DlDataType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` strides in elements; NULL: contiguous.
    pub strides: *mut i64,
    /// From `data` to the first element.
    pub byte_offset: u64,
}

/// The element type of a DLPack type.
pub fn dtype_of(dtype: DlDataType) -> Result<DType> {
    let found = match (dtype.code, dtype.bits) {
        (0, 4) => DType::I4,
        (0, 8) => DType::I8,
        (0, 16) => DType::I16,
        (0, 32) => DType::I32,
        (0, 64) => DType::I64,
        (1, 4) => DType::U4,
        (1, 8) => DType::U8,
        (1, 16) => DType::U16,
        (1, 32) => DType::U32,
        (1, 64) => DType::U64,
        (2, 16) => DType::F16,
        (2, 32) => DType::F32,
        (2, 64) => DType::F64,
        (4, 16) => DType::Bf16,
        (6, 8) => DType::Bool,
        (10, 8) => DType::E4m3,
        (11, 8) => DType::E4m3fnuz,
        (12, 8) => DType::E5m2,
        (13, 8) => DType::E5m2fnuz,
        (14, 8) => DType::E8m0,
        (15, 6) => DType::E2m3,
        (16, 6) => DType::E3m2,
        (17, 4) => DType::E2m1,
        _ => return Err(refused(format!("DLPack's type {:?} is no element type of tilert", dtype))),
    };
    if dtype.lanes != 1 {
        return Err(refused(format!("DLPack's type {:?}: elements have one lane", dtype)));
    }
    Ok(found)
}

/// The tensor as an argument. What it points to stays the caller's.
///
/// # Safety
/// As [`Argument::address`]; `shape` has `ndim` numbers, and `strides`, where it is not NULL.
pub unsafe fn argument(tensor: &DlTensor) -> Result<Argument<'static>> {
    let dtype = dtype_of(tensor.dtype)?;
    let offset = usize::try_from(tensor.byte_offset).map_err(|_| refused("a byte offset out of range".into()))?;
    let data = if tensor.data.is_null() { tensor.data } else { (tensor.data as *mut u8).add(offset) as *mut c_void };
    Argument::from_raw(&sys::tilert_argument {
        kind: sys::TILERT_ARGUMENT_TENSOR,
        dtype: dtype as i32,
        data,
        shape: tensor.shape,
        strides: tensor.strides,
        ndim: tensor.ndim,
        device_type: tensor.device.device_type,
        device_id: tensor.device.device_id,
        ..Default::default()
    })
}

fn refused(words: String) -> Error {
    Error::new(Status::InvalidArgument, words)
}
