/* Between processes: sum STORE RANK RANKS. Also C++. */
#include <cerar_gloo.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 10007

int main(int count, char** words) {
  static float vector[COUNT];
  const int rank = count == 4 ? atoi(words[2]) : 0, ranks = count == 4 ? atoi(words[3]) : 0;
  cerarCommConfig_t config = CERAR_COMM_CONFIG_INITIALIZER;
  cerarComm_t comm = NULL;
  int i, wrong = 0;
  config.timeout_ms = config.meeting_timeout_ms = 60000;
  for (i = 0; i < COUNT; ++i) vector[i] = (float)(rank + i % 5);
  if (cerarCommInitGloo(&comm, rank, ranks, NULL, words[1], NULL, &config) != cerarSuccess ||
      cerarAllReduce(vector, vector, COUNT, cerarFloat32, cerarSum, comm, NULL) != cerarSuccess ||
      cerarCommDestroy(comm) != cerarSuccess) {
    fprintf(stderr, "rank %d: %s\n", rank, cerarGetLastError());
    return 1;
  }
  for (i = 0; i < COUNT; ++i) wrong += vector[i] != (float)(ranks * (ranks - 1) / 2 + ranks * (i % 5));
  printf("rank %d: %d of %d wrong\n", rank, wrong, COUNT);
  return wrong != 0;
}
