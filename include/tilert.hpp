// tilert for C++17: the builder and the host side, header-only over tilert.h. The namespace is tl.
//
//   tl::Builder b("scale");
//   auto N = b.dim("N");
//   auto x = b.input("x", tl::f32, {N});
//   auto y = b.output("y", tl::f32, {N});
//   b.grid({tl::ceildiv(N, 256)}, [&](tl::Index i) {
//     auto t = b.fragment(tl::f32, {256});
//     b.copy(x(i * 256), t);
//     b.parallel({256}, [&](tl::Index j) { t(j) = t(j) * 2; });
//     b.copy(t, y(i * 256));
//   });
//   tl::Program program = b.finish();
//
//   tl::Context ctx;
//   tl::Device device = ctx.cpu();
//   tl::Loaded loaded = ctx.kernel(program).prepare(device);
//   loaded.launch(nullptr, {x_data, y_data}, {{N, 1000}});
//
// Every call records its caller's file and line. Functions that can fail come in two forms: try_f returns tl::Result or
// tl::Status; f throws tl::Exception and exists only where exceptions are on. What each does is in tilert.h.
#ifndef TILERT_HPP_
#define TILERT_HPP_

#include "tilert/builder.hpp"
#include "tilert/diagnostics.hpp"
#include "tilert/host.hpp"
#include "tilert/recommend.hpp"
#include "tilert/result.hpp"
#include "tilert/values.hpp"

#endif  // TILERT_HPP_
