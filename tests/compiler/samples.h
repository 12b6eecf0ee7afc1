// Kernels that tests of more than one compiler hand in.
#pragma once

namespace tilert {

// As a user writes it, for NVRTC and for hipRTC.
inline const char* const kReverse =
    "extern \"C\" __global__ void reverse(float* a) {\n"
    "  __shared__ float s[64];\n"
    "  s[threadIdx.x] = a[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  a[threadIdx.x] = s[63 - threadIdx.x];\n"
    "}\n";

}  // namespace tilert
