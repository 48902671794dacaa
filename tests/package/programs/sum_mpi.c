/* One rank with both libraries: a handle from either works with the other's functions, and both tell of
 * errors in one place. Also C++. */
#include <cerar_mpi.h>
#include <stdio.h>
#include <string.h>

static int check(cerarResult_t result, cerarResult_t expected, const char* in_sentence) {
  if (result == expected && strstr(cerarGetLastError(), in_sentence)) return 1;
  fprintf(stderr, "%s, not %s: %s\n", cerarGetErrorString(result), cerarGetErrorString(expected),
          cerarGetLastError());
  return 0;
}

int main(int count, char** words) {
  cerarCommConfig_t config = CERAR_COMM_CONFIG_INITIALIZER;
  cerarComm_t over_mpi = NULL, local = NULL;
  float vector[3] = {1, 2, 3};
  int good = check(cerarCommInitMpi(&over_mpi, MPI_COMM_WORLD, NULL, NULL), cerarInvalidArgument, "MPI_Init");
  config.timeout_ms = -1;
  MPI_Init(&count, &words);
  good &= check(cerarCommInitMpi(&over_mpi, MPI_COMM_WORLD, NULL, &config), cerarInvalidArgument,
                "timeout_ms is -1");
  good &=
      check(cerarCommInitMpi(&over_mpi, MPI_COMM_NULL, NULL, NULL), cerarInvalidArgument, "MPI_COMM_NULL");
  good &= check(cerarCommInitTransport(&local, "another", "", NULL, NULL, NULL, NULL), cerarInvalidArgument,
                "make");
  good &= check(cerarCommInitMpi(&over_mpi, MPI_COMM_WORLD, NULL, NULL), cerarSuccess, "");
  good &= check(cerarCommInitLocal(&local, 1, NULL, NULL), cerarSuccess, "");
  good &=
      check(cerarAllReduce(vector, vector, 3, cerarFloat32, cerarAverage, over_mpi, NULL), cerarSuccess, "");
  good &= check(cerarAllReduce(vector, vector, 3, cerarFloat32, cerarAverage, local, NULL), cerarSuccess, "");
  good &=
      check(cerarCommDestroy(over_mpi), cerarSuccess, "") & check(cerarCommDestroy(local), cerarSuccess, "");
  MPI_Finalize();
  good &= vector[0] == 1 && vector[1] == 2 && vector[2] == 3;
  puts(good ? "both libraries work together" : "wrong");
  return !good;
}
