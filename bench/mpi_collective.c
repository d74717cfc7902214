/* Times MPI_Allreduce of f32 in the way of `troika bench comm`: batches of about half a millisecond, every size in
 * turns, the slowest rank counts. Compiled by bench/against_mpi with each MPI's own compiler.
 *
 * usage: mpirun -n N mpi_collective REPEATS BYTES...      prints one JSON object per size */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 64, MOST_ROUNDS = 1000 };

static int by_size(const void* a, const void* b) {
  double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

static double time_rounds(const float* from, float* to, int count, int rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round)
    MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  double mine = (MPI_Wtime() - start) / rounds * 1e6, longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static double time_batch(const float* from, float* to, int count) {
  time_rounds(from, to, count, 1);
  double rounds = 500 / (time_rounds(from, to, count, 1) + 1e-3);
  return time_rounds(from, to, count, rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : (int)rounds);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, repeats = argc > 1 ? atoi(argv[1]) : 21, sizes = argc - 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (repeats < 1 || sizes < 1 || sizes > MOST_SIZES) {
    fprintf(stderr, "usage: mpi_collective REPEATS BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  long longest = 4;
  for (int size = 0; size < sizes; ++size)
    if (atol(argv[size + 2]) > longest) longest = atol(argv[size + 2]);
  float *from = malloc(longest), *to = malloc(longest);
  double* times = malloc(sizeof(double) * repeats * sizes);
  memset(from, 0, longest);
  memset(to, 0, longest);
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (int size = 0; size < sizes; ++size)
      times[size * repeats + repeat] = time_batch(from, to, (int)(atol(argv[size + 2]) / 4));
  for (int size = 0; rank == 0 && size < sizes; ++size) {
    double* list = times + size * repeats;
    qsort(list, repeats, sizeof(double), by_size);
    printf("{\"bytes\": %ld, \"microseconds\": %.4f, \"from_microseconds\": %.4f, \"to_microseconds\": %.4f}\n",
           atol(argv[size + 2]), list[repeats / 2], list[0], list[repeats - 1]);
  }
  free(times);
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
