// Host twins of approximations (device/cuda/fast.cuh), as far from the exact results as PTX ISA and the CUDA C++
// Programming Guide let them be.

//@ tl_approx_ex2
TL_DEV float tl_approx_ex2(float x) {
  const float a = tilert::emulator::flushed(x);
  return tilert::emulator::is_end(a) ? exp2f(a) : tilert::emulator::approximation(exp2(static_cast<double>(a)), 2, 0);
}

//@ tl_approx_lg2
TL_DEV float tl_approx_lg2(float x) {
  const float a = tilert::emulator::flushed(x);
  if (tilert::emulator::is_end(a)) return log2f(a);
  const bool about_1 = a >= 0.5f && a <= 2.0f;
  return tilert::emulator::approximation(log2(static_cast<double>(a)), about_1 ? 1 : 2, about_1 ? 0x1p-22 : 0);
}

//@ tl_approx_rcp
TL_DEV float tl_approx_rcp(float x) {
  const float a = tilert::emulator::flushed(x);
  return tilert::emulator::is_end(a) ? 1.0f / a : tilert::emulator::approximation(1 / static_cast<double>(a), 1, 0);
}

//@ tl_approx_div
TL_DEV float tl_approx_div(float x, float y) {
  const float a = tilert::emulator::flushed(x), b = tilert::emulator::flushed(y);
  if (tilert::emulator::is_end(a) || tilert::emulator::is_end(b)) return a / b;
  return tilert::emulator::approximation(static_cast<double>(a) / static_cast<double>(b), 2, 0);
}

//@ tl_approx_sqrt
TL_DEV float tl_approx_sqrt(float x) {
  const float a = tilert::emulator::flushed(x);
  if (tilert::emulator::is_end(a)) return sqrtf(a);
  const double exact = sqrt(static_cast<double>(a));
  return tilert::emulator::approximation(exact, 1, exact * 0x1p-24);
}

//@ tl_approx_rsqrt
TL_DEV float tl_approx_rsqrt(float x) {
  const float a = tilert::emulator::flushed(x);
  if (tilert::emulator::is_end(a)) return 1.0f / sqrtf(a);
  const double exact = 1 / sqrt(static_cast<double>(a));
  return tilert::emulator::approximation(exact, 1, exact * 0x1p-24);
}

//@ tl_approx_sin
TL_DEV float tl_approx_sin(float x) {
  const float a = tilert::emulator::flushed(x);
  if (tilert::emulator::is_end(a)) return sinf(a);
  return tilert::emulator::sine(sin(static_cast<double>(a)), a, 3.5e-7);
}

//@ tl_approx_cos
TL_DEV float tl_approx_cos(float x) {
  const float a = tilert::emulator::flushed(x);
  if (tilert::emulator::is_end(a)) return cosf(a);
  return tilert::emulator::sine(cos(static_cast<double>(a)), a, 4e-7);
}

//@ tl_approx_tanh
TL_DEV float tl_approx_tanh(float x) {
  if (tilert::emulator::is_end(x)) return tanhf(x);
  const double exact = tanh(static_cast<double>(x));
  if (fabs(exact) < 0x1p-126) return x;
  return tilert::emulator::approximation(exact, 1, fabs(exact) * 4.8e-4);
}
