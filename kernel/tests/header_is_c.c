/* Compiles if kernel/fp8_gemm.h is C and includes what it needs. */
#include "kernel/fp8_gemm.h"

hotproof_status (*const hotproof_header_is_c)(const hotproof_fp8_gemm_args*,
                                              void*) = hotproof_fp8_gemm;
