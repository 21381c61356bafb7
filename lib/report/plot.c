/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common parts of all gnuplot scripts. Each picture is a file, because a page of several
 * cannot be inserted into a document one by one. Texts are taken literally ("noenhanced"):
 * names of engines and groups have underscores, which would otherwise be subscripts.
 */
#include "report/plot.h"

#include <stdbool.h>

void
plot_head(FILE *out, const char *what)
{
	fprintf(out,
		"# %s, by mininb.\n"
		"#\n"
		"#     gnuplot FILE                                   mininb-*.svg\n"
		"#     gnuplot -e \"terminal='png'; output='a'\" FILE   a-*.png\n"
		"\n"
		"if (!exists(\"terminal\")) terminal = \"svg\"\n"
		"if (!exists(\"output\")) output = \"mininb\"\n"
		"if (terminal eq \"png\") {\n"
		"\tset terminal png noenhanced size 1000,600\n"
		"} else {\n"
		"\tset terminal svg noenhanced size 1000,600 background \"white\"\n"
		"}\n"
		"set key outside bottom center horizontal\n"
		"set grid\n",
		what);
}

/**
 * Replace all characters that would end the text or are special: gnuplot executes
 * `commands`.
 */
void
plot_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		bool is_quote = *text == '"' || *text == '`';
		bool is_space = *text == '\\' || (unsigned char)*text < ' ';
		fputc(is_quote ? '\'' : is_space ? ' ' : *text, out);
	}
	fputc('"', out);
}

void
plot_begin(FILE *out, const char *name, const char *title)
{
	fprintf(out, "\nset output output . \"-%s.\" . terminal\nset title ", name);
	plot_text(out, title);
	fputc('\n', out);
}

void
plot_next(FILE *out, size_t *count)
{
	fputs(*count > 0 ? ", \\\n     " : "plot ", out);
	++*count;
}
