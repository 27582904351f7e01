/* Stands before oneDNN (LD_PRELOAD) as a product that leaves half of the rows out. */
#include <dnnl.h>
#include <string.h>

dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N, dnnl_dim_t K,
                         float alpha, const float *A, dnnl_dim_t lda, const float *B,
                         dnnl_dim_t ldb, float beta, float *C, dnnl_dim_t ldc)
{
    for (dnnl_dim_t i = 0; i < M; i++) {
        float *row = C + i * ldc;

        if (beta == 0)
            memset(row, 0, (size_t)N * sizeof *row);
        for (dnnl_dim_t k = 0; k < K && i < M / 2; k++)
            for (dnnl_dim_t j = 0; j < N; j++)
                row[j] += alpha * (transa == 'T' ? A[k * lda + i] : A[i * lda + k]) *
                          (transb == 'T' ? B[j * ldb + k] : B[k * ldb + j]);
    }
    return dnnl_success;
}
