/* All-reduce between the threads of one process, from C: all_reduce PLAN_DIRECTORY [COUNT].
 *
 * Every rank fills a vector, all-reduces it in place and compares it with the sum that it can work out
 * itself. */
#include <cerar.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  cerarComm_t comm;
  int rank, workers;
  size_t count;
  double square_error, square_sum;
  cerarResult_t result;
  char message[512];
} Rank;

static float gradient(int rank, size_t i) { return sinf((float)i * 0.37f + (float)(rank * rank)); }

static void* run_rank(void* argument) {
  Rank* rank = argument;
  float* vector = malloc(rank->count * sizeof(float));
  if (!vector) {
    rank->result = cerarSystemError;
    snprintf(rank->message, sizeof rank->message, "there is no memory for %zu elements", rank->count);
    return NULL;
  }
  for (size_t i = 0; i < rank->count; ++i) vector[i] = gradient(rank->rank, i);
  rank->result = cerarAllReduce(vector, vector, rank->count, cerarFloat32, cerarSum, rank->comm, NULL);
  /* The last error belongs to the thread that made it. */
  snprintf(rank->message, sizeof rank->message, "%s", cerarGetLastError());
  for (size_t i = 0; i < rank->count; ++i) {
    double sum = 0;
    for (int other = 0; other < rank->workers; ++other) sum += gradient(other, i);
    rank->square_sum += sum * sum;
    rank->square_error += (vector[i] - sum) * (vector[i] - sum);
  }
  free(vector);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: all_reduce PLAN_DIRECTORY [COUNT]\n");
    return 2;
  }
  cerarPlan_t plan;
  int workers = 0;
  if (cerarPlanLoad(&plan, argv[1]) != cerarSuccess || cerarPlanWorkers(plan, &workers) != cerarSuccess) {
    fprintf(stderr, "all_reduce: %s\n", cerarGetLastError());
    return 1;
  }
  cerarComm_t* comms = calloc((size_t)workers, sizeof *comms);
  Rank* ranks = calloc((size_t)workers, sizeof *ranks);
  pthread_t* threads = calloc((size_t)workers, sizeof *threads);
  if (!comms || !ranks || !threads) {
    fprintf(stderr, "all_reduce: there is no memory for %d ranks\n", workers);
    return 1;
  }
  if (cerarCommInitLocal(comms, workers, plan, NULL) != cerarSuccess) {
    fprintf(stderr, "all_reduce: %s\n", cerarGetLastError());
    return 1;
  }
  cerarPlanFree(plan);

  int status = 0;
  for (int i = 0; i < workers; ++i) {
    ranks[i] = (Rank){.comm = comms[i],
                      .rank = i,
                      .workers = workers,
                      .count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000};
    if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]) != 0) {
      fprintf(stderr, "all_reduce: there is no thread for rank %d\n", i);
      return 1; /* and with it the ranks that wait for this one */
    }
  }
  for (int i = 0; i < workers; ++i) pthread_join(threads[i], NULL);
  cerarCallInfo_t info = CERAR_CALL_INFO_INITIALIZER;
  cerarCommLastCall(comms[0], &info);
  for (int i = 0; i < workers; ++i) {
    if (ranks[i].result != cerarSuccess) {
      fprintf(stderr, "all_reduce: rank %d: %s\n", i, ranks[i].message);
      status = 1;
    } else {
      printf("rank %d: error %.2e, claimed %.2e (%s, c = %d)\n", i,
             sqrt(ranks[i].square_error / ranks[i].square_sum), info.claimed_error, info.variant,
             info.components);
    }
    cerarCommDestroy(comms[i]);
  }
  if (fflush(stdout) != 0) {
    perror("all_reduce: standard output");
    status = 1;
  }
  free(threads);
  free(ranks);
  free(comms);
  return status;
}
