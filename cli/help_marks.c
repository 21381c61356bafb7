/* SPDX-License-Identifier: BSD-2-Clause */
#include "help_marks.h"

#include <string.h>

/** Print what the mark that `text` begins with stands for; its length, 0: it is none. */
static size_t
print_mark(FILE *out, const struct help_mark *marks, const char *text, size_t size)
{
	for (; marks->text != NULL; marks++) {
		size_t length = strlen(marks->text);
		if (length <= size && memcmp(text, marks->text, length) == 0) {
			marks->print(out);
			return length;
		}
	}
	return 0;
}

void
help_print_marked(FILE *out, const struct template_file *file, const struct help_mark *marks)
{
	for (size_t i = 0; i < file->size;) {
		const char *text = file->text + i;
		size_t length = *text == '@' ? print_mark(out, marks, text, file->size - i) : 0;
		if (length == 0)
			fputc(*text, out);
		i += length > 0 ? length : 1;
	}
}
