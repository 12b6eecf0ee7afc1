// Whole kernels over the primitives, of the structure of the fastest ones on Hopper: right as they stand on an sm_90a GPU.
// Their tests: recipe_*_test.cpp; what they take and give is there.
#pragma once

#include <string>

namespace tilert::emulator {

// C[M, N] = A[M, K] * B[N, K]^T in tiles of 128 x 64, K in steps of 64, three stages.
inline constexpr char kPersistentGemm[] = R"(TL_KERNEL(384, 1) gemm(const __grid_constant__ tl_tensor_map ma, const __grid_constant__ tl_tensor_map mb, const __grid_constant__ tl_tensor_map mc, const int steps, const int rows, const int tiles, const int blocks) {
  tl_bf16* const a = reinterpret_cast<tl_bf16*>(tl_arena + 0);
  tl_bf16* const b = reinterpret_cast<tl_bf16*>(tl_arena + 49152);
  tl_bf16* const c = reinterpret_cast<tl_bf16*>(tl_arena + 73728);
  tl_u64* const full = reinterpret_cast<tl_u64*>(tl_arena + 90112);
  tl_u64* const empty = reinterpret_cast<tl_u64*>(tl_arena + 90144);
  const int t = tl_thread() & 127;
  const int group = tl_thread() >> 7;
  // 1: barriers of the ring
  if (tl_thread() == 0) {
    for (int i = 0; i < 3; i += 1) {
      tl_mbarrier_init(full + i, 1);
      tl_mbarrier_init(empty + i, 2);
    }
    tl_mbarrier_init_fence();
  }
  tl_barrier();
  int stage = 0;
  if (group == 0) {
    tl_setmaxnreg_dec<40>();
    if (t == 0) {
      int parity = 1;
      for (int tile = tl_block_x(); tile < tiles; tile += blocks) {
        const int m = tile % rows;
        const int n = tile / rows;
        for (int k = 0; k < steps; k += 1) {
          // 2: copies
          tl_mbarrier_wait(empty + stage, parity);
          tl_mbarrier_expect(full + stage, 24576);
          tl_tma_load_2d(a + stage * 8192, ma, full + stage, k * 64, m * 128);
          tl_tma_load_2d(b + stage * 4096, mb, full + stage, k * 64, n * 64);
          parity = stage == 2 ? 1 - parity : parity;
          stage = stage == 2 ? 0 : stage + 1;
        }
      }
    }
  } else {
    tl_setmaxnreg_inc<232>();
    int phase = 0;
    tl_bf16* const staging = c + (group - 1) * 4096;
    for (int tile = tl_block_x(); tile < tiles; tile += blocks) {
      const int m = tile % rows;
      const int n = tile / rows;
      float acc[32];
      int previous = -1;
      for (int k = 0; k < steps; k += 1) {
        // 3: product
        tl_mbarrier_wait(full + stage, phase);
        tl_u64 da[1];
        tl_u64 db[1];
        tl_wgmma_descriptor(da, a + stage * 8192 + (group - 1) * 4096);
        tl_wgmma_descriptor(db, b + stage * 4096);
        tl_wgmma_hold(acc);
        tl_wgmma_fence();
        for (int kk = 0; kk < 4; kk += 1) {
          tl_wgmma_ss<64, tl_bf16>(acc, da[0] + 2 * kk, db[0] + 2 * kk, k + kk > 0);
        }
        tl_wgmma_commit();
        tl_wgmma_hold(acc);
        tl_wgmma_wait<1>();
        if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);
        previous = stage;
        phase = stage == 2 ? 1 - phase : phase;
        stage = stage == 2 ? 0 : stage + 1;
      }
      tl_wgmma_wait<0>();
      tl_wgmma_hold(acc);
      if (t == 0) tl_mbarrier_arrive(empty + previous);
      // 4: epilogue
      if (t == 0) tl_tma_store_wait_read<0>();
      tl_named_barrier(group, 128);
      const int row = (t >> 5) * 16 + (t & 15);
      for (int j = 0; j < 4; j += 1) {
        tl_u32 r[4];
        tl_cast_pack<tl_bf16>(r, tl_slice<8>(acc + j * 8));
        tl_stmatrix_x4(staging + (((row * 128 + (j * 2 + ((t & 31) >> 4)) * 16) ^ ((row & 7) * 16)) >> 1), r);
      }
      tl_proxy_fence();
      tl_named_barrier(group, 128);
      if (t == 0) {
        tl_tma_store_2d(mc, staging, n * 64, m * 128 + (group - 1) * 64);
        tl_tma_store_commit();
      }
    }
    if (t == 0) tl_tma_store_wait_read<0>();
  }
})";

// Two blocks of a cluster, one above the other: each loads its rows of A, and half of B for both.
inline std::string clustered_gemm() {
  std::string text = kPersistentGemm;
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  const auto replace_all = [&](const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  };
  replace("  const int group = tl_thread() >> 7;\n", "  const int group = tl_thread() >> 7;\n  const int rank = tl_cluster_rank();\n");
  replace("tl_mbarrier_init(empty + i, 2);", "tl_mbarrier_init(empty + i, 4);");
  replace("  tl_barrier();\n", "  tl_cluster_barrier();\n");
  replace_all("int tile = tl_block_x(); tile < tiles; tile += blocks", "int tile = tl_block_x() >> 1; tile < tiles; tile += blocks >> 1");
  replace_all("const int m = tile % rows;", "const int m = tile % rows * 2 + rank;");
  replace("tl_tma_load_2d(b + stage * 4096, mb, full + stage, k * 64, n * 64);",
          "tl_tma_load_2d_multicast(b + stage * 4096 + rank * 2048, mb, full + stage, k * 64, n * 64 + rank * 32, 3);");
  replace("if (t == 0 && previous >= 0) tl_mbarrier_arrive(empty + previous);", "if (t < 2 && previous >= 0) tl_mbarrier_arrive_cluster(empty + previous, t);");
  replace("      if (t == 0) tl_mbarrier_arrive(empty + previous);", "      if (t < 2) tl_mbarrier_arrive_cluster(empty + previous, t);");
  replace("    if (t == 0) tl_tma_store_wait_read<0>();\n  }\n}", "    if (t == 0) tl_tma_store_wait_read<0>();\n  }\n  // 5: until the other block needs this one no more\n  tl_cluster_barrier();\n}");
  return text;
}

// Head dim 64, tiles of 128 queries and 64 keys, two stages. Parts that stand twice: the scores of a tile are issued before
// the loop and in it, the product with the values in it and behind it, the softmax after each scores.
inline constexpr char kScores[] = R"(        // 3: scores
        tl_wgmma_descriptor(dq, q + w * 4096);
        tl_wgmma_descriptor(dk, k + stage * 4096);
        tl_wgmma_hold(s);
        tl_wgmma_fence();
        for (int kk = 0; kk < 4; kk += 1) {
          tl_wgmma<64, float, tl_bf16, tl_bf16, 0, 0>(s, dq[0] + 2 * kk, dk[0] + 2 * kk, kk);
        }
        tl_wgmma_commit();
)";

inline constexpr char kValues[] = R"(        // 4: product with the values
        tl_mbarrier_wait(v_full + value_stage, value_phase);
        tl_wgmma_describe<128>(dv, v + value_stage * 4096, 8192, 1024);
        tl_wgmma_hold(acc);
        tl_wgmma_hold_words(p);
        tl_wgmma_fence();
        for (int kk = 0; kk < 4; kk += 1) {
          tl_wgmma_rs<64, float, tl_bf16, tl_bf16, 1>(acc, tl_slice<4>(p + 4 * kk), dv[0] + 128 * kk, 1);
        }
        tl_wgmma_commit();
)";

inline constexpr char kSoftmax[] = R"(        // 5: softmax
        for (int r = 0; r < 2; r += 1) {
          float highest[1];
          float other[1];
          highest[0] = top[r];
          for (int i = 0; i < 16; i += 1) {
            const int c = (i >> 1) * 4 + (i & 1) + 2 * r;
            if (j * 64 + (i >> 1) * 8 + (lane & 3) * 2 + (i & 1) >= length) s[c] = -tl_inf();
            highest[0] = tl_max<float>(highest[0], s[c]);
          }
          tl_shuffle_xor<float>(other, highest, 1);
          highest[0] = tl_max<float>(highest[0], other[0]);
          tl_shuffle_xor<float>(other, highest, 2);
          highest[0] = tl_max<float>(highest[0], other[0]);
          factor[r] = tl_exp2<float>((top[r] - highest[0]) * scale);
          top[r] = highest[0];
          float part = 0.0f;
          for (int i = 0; i < 16; i += 1) {
            const int c = (i >> 1) * 4 + (i & 1) + 2 * r;
            s[c] = tl_exp2<float>((s[c] - top[r]) * scale);
            part += s[c];
          }
          sum[r] = sum[r] * factor[r] + part;
        }
)";

inline constexpr char kProbabilities[] = R"(        tl_cast_pack<tl_bf16>(p, s);
        value_stage = stage;
        value_phase = phase;
        phase = stage == 1 ? 1 - phase : phase;
        stage = 1 - stage;
)";

inline constexpr char kAttentionHead[] = R"(TL_KERNEL(384, 1) attention(const __grid_constant__ tl_tensor_map mq, const __grid_constant__ tl_tensor_map mk, const __grid_constant__ tl_tensor_map mv, const __grid_constant__ tl_tensor_map mo, const int length, const int rows, const int tiles, const int blocks, const float scale) {
  tl_bf16* const q = reinterpret_cast<tl_bf16*>(tl_arena + 0);
  tl_bf16* const k = reinterpret_cast<tl_bf16*>(tl_arena + 16384);
  tl_bf16* const v = reinterpret_cast<tl_bf16*>(tl_arena + 32768);
  tl_bf16* const o = reinterpret_cast<tl_bf16*>(tl_arena + 49152);
  tl_u64* const q_full = reinterpret_cast<tl_u64*>(tl_arena + 65536);
  tl_u64* const q_empty = q_full + 2;
  tl_u64* const k_full = q_full + 4;
  tl_u64* const k_empty = q_full + 6;
  tl_u64* const v_full = q_full + 8;
  tl_u64* const v_empty = q_full + 10;
  const int t = tl_thread() & 127;
  const int group = tl_thread() >> 7;
  const int steps = (length + 63) / 64;
  // 1: barriers of the rings
  if (tl_thread() == 0) {
    for (int i = 0; i < 2; i += 1) {
      tl_mbarrier_init(q_full + i, 1);
      tl_mbarrier_init(q_empty + i, 1);
      tl_mbarrier_init(k_full + i, 1);
      tl_mbarrier_init(k_empty + i, 2);
      tl_mbarrier_init(v_full + i, 1);
      tl_mbarrier_init(v_empty + i, 2);
    }
    tl_mbarrier_init_fence();
  }
  tl_barrier();
  int stage = 0;
  if (group == 0) {
    tl_setmaxnreg_dec<24>();
    if (t == 0) {
      int parity = 1;
      int q_parity = 1;
      for (int tile = tl_block_x(); tile < tiles; tile += blocks) {
        // 2: copies
        for (int w = 0; w < 2; w += 1) {
          tl_mbarrier_wait(q_empty + w, q_parity);
          tl_mbarrier_expect(q_full + w, 8192);
          tl_tma_load_3d(q + w * 4096, mq, q_full + w, 0, tile % rows * 128 + w * 64, tile / rows);
        }
        q_parity = 1 - q_parity;
        for (int j = 0; j < steps; j += 1) {
          tl_mbarrier_wait(k_empty + stage, parity);
          tl_mbarrier_expect(k_full + stage, 8192);
          tl_tma_load_3d(k + stage * 4096, mk, k_full + stage, 0, j * 64, tile / rows);
          tl_mbarrier_wait(v_empty + stage, parity);
          tl_mbarrier_expect(v_full + stage, 8192);
          tl_tma_load_3d(v + stage * 4096, mv, v_full + stage, 0, j * 64, tile / rows);
          parity = stage == 1 ? 1 - parity : parity;
          stage = 1 - stage;
        }
      }
    }
  } else {
    tl_setmaxnreg_inc<240>();
    const int w = group - 1;
    const int lane = t & 31;
    int phase = 0;
    int q_phase = 0;
    if (w == 1) tl_named_barrier_arrive(2, 256);
    for (int tile = tl_block_x(); tile < tiles; tile += blocks) {
      float acc[32];
      float s[32];
      tl_u32 p[16];
      for (int i = 0; i < 32; i += 1) {
        acc[i] = 0.0f;
      }
      float top[2];
      float sum[2];
      float factor[2];
      for (int r = 0; r < 2; r += 1) {
        top[r] = -tl_inf();
        sum[r] = 0.0f;
      }
)";

inline constexpr char kAttentionTail[] = R"(      for (int r = 0; r < 2; r += 1) {
        float whole[1];
        float other[1];
        whole[0] = sum[r];
        tl_shuffle_xor<float>(other, whole, 1);
        whole[0] += other[0];
        tl_shuffle_xor<float>(other, whole, 2);
        factor[r] = 1.0f / (whole[0] + other[0]);
      }
      for (int i = 0; i < 32; i += 1) {
        acc[i] = acc[i] * factor[(i >> 1) & 1];
      }
      // 7: epilogue
      if (t == 0) tl_tma_store_wait_read<0>();
      tl_named_barrier(4 + w, 128);
      const int row = (t >> 5) * 16 + (t & 15);
      for (int j = 0; j < 4; j += 1) {
        tl_u32 r[4];
        tl_cast_pack<tl_bf16>(r, tl_slice<8>(acc + j * 8));
        tl_stmatrix_x4(o + w * 4096 + (((row * 128 + (j * 2 + (lane >> 4)) * 16) ^ ((row & 7) * 16)) >> 1), r);
      }
      tl_proxy_fence();
      tl_named_barrier(4 + w, 128);
      if (t == 0) {
        tl_tma_store_3d(mo, o + w * 4096, 0, tile % rows * 128 + w * 64, tile / rows);
        tl_tma_store_commit();
      }
    }
    if (w == 0) tl_named_barrier(2, 256);
    if (t == 0) tl_tma_store_wait_read<0>();
  }
})";

inline std::string attention() {
  return std::string(kAttentionHead) + R"(      int value_stage = 0;
      int value_phase = 0;
      tl_u64 dq[1];
      tl_u64 dk[1];
      tl_u64 dv[1];
      tl_mbarrier_wait(q_full + w, q_phase);
      q_phase = 1 - q_phase;
      tl_mbarrier_wait(k_full + stage, phase);
      {
        const int j = 0;
)" + kScores + R"(        tl_wgmma_hold(s);
        tl_wgmma_wait<0>();
        tl_wgmma_hold(s);
        if (t == 0) tl_mbarrier_arrive(k_empty + stage);
        if (t == 0 && steps == 1) tl_mbarrier_arrive(q_empty + w);
)" + kSoftmax + kProbabilities + R"(      }
      for (int j = 1; j < steps; j += 1) {
        tl_mbarrier_wait(k_full + stage, phase);
        tl_named_barrier(2 + w, 256);
)" + kScores + kValues + R"(        tl_named_barrier_arrive(3 - w, 256);
        tl_wgmma_wait<1>();
        tl_wgmma_hold(s);
        if (t == 0) tl_mbarrier_arrive(k_empty + stage);
        if (t == 0 && j == steps - 1) tl_mbarrier_arrive(q_empty + w);
)" + kSoftmax + R"(        // 6: end of the product
        tl_wgmma_wait<0>();
        tl_wgmma_hold(acc);
        if (t == 0) tl_mbarrier_arrive(v_empty + value_stage);
        for (int i = 0; i < 32; i += 1) {
          acc[i] = acc[i] * factor[(i >> 1) & 1];
        }
)" + kProbabilities + "      }\n      {\n" + kValues + R"(        tl_wgmma_hold(acc);
        tl_wgmma_wait<0>();
        tl_wgmma_hold(acc);
        if (t == 0) tl_mbarrier_arrive(v_empty + value_stage);
      }
)" + kAttentionTail;
}

}  // namespace tilert::emulator
