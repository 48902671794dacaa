/* All-reduce between MPI processes, from C: mpirun -np N all_reduce_mpi PLAN_DIRECTORY [COUNT].
 *
 * Every rank fills a vector, all-reduces it in place and compares it with what MPI_Allreduce sums in double.
 */
#include <cerar_mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(int rank) {
  fprintf(stderr, "all_reduce_mpi: rank %d: %s\n", rank, cerarGetLastError());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2 || argc > 3) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -np N all_reduce_mpi PLAN_DIRECTORY [COUNT]\n");
    MPI_Finalize();
    return 2;
  }
  cerarPlan_t plan;
  cerarComm_t comm;
  if (cerarPlanLoad(&plan, argv[1]) != cerarSuccess ||
      cerarCommInitMpi(&comm, MPI_COMM_WORLD, plan, NULL) != cerarSuccess)
    return fail(rank);
  cerarPlanFree(plan);

  const size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
  float* vector = malloc(count * sizeof(float));
  double* sum = malloc(count * sizeof(double));
  if (!vector || !sum) {
    fprintf(stderr, "all_reduce_mpi: rank %d: there is no memory for %zu elements\n", rank, count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (size_t i = 0; i < count; ++i) sum[i] = vector[i] = sinf((float)i * (0.37f + 0.11f * (float)rank));
  if (cerarAllReduce(vector, vector, count, cerarFloat32, cerarSum, comm, NULL) != cerarSuccess)
    return fail(rank);
  MPI_Allreduce(MPI_IN_PLACE, sum, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

  double square_error = 0, square_sum = 0;
  for (size_t i = 0; i < count; ++i) {
    square_sum += sum[i] * sum[i];
    square_error += (vector[i] - sum[i]) * (vector[i] - sum[i]);
  }
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  cerarCommLastCall(comm, &info);
  printf("rank %d: error %.2e, claimed %.2e (%s, c = %d)\n", rank, sqrt(square_error / square_sum),
         info.claimed_error, info.variant, info.components);
  const int lost = fflush(stdout) != 0;
  if (lost) fprintf(stderr, "all_reduce_mpi: rank %d: standard output cannot be written\n", rank);
  free(vector);
  free(sum);
  cerarCommDestroy(comm);
  MPI_Finalize();
  return lost;
}
