/* SPDX-License-Identifier: BSD-2-Clause */
/* A fuzzer's inputs, once each and without libFuzzer: what crashed does not crash again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
replay(const char *path)
{
	enum { SIZE_MAX_READ = 1 << 20 };
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(SIZE_MAX_READ);
	if (file == NULL || data == NULL) {
		perror(path);
		return 1;
	}
	size_t size = fread(data, 1, SIZE_MAX_READ, file);
	fclose(file);
	printf("%s: %zu bytes\n", path, size);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int
main(int argc, char **argv)
{
	int failed = argc < 2; /* no inputs at all are a mistake */
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
