// A host library that no plan can use: it lacks the kernels, and it takes a parameter block of the size given
// or, with CERAR_TEST_WITHOUT_SIZE, says nothing at all.
#include "templates/visit_arguments.h"

#ifdef CERAR_TEST_WITHOUT_SIZE
extern "C" const int nothing_of_interest = 1;
#else
extern "C" const unsigned cerar_visit_arguments_size = CERAR_TEST_ARGUMENTS_SIZE;
#endif
