/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
/**
 * The options: one table, from which the words are read and --help, the man
 * page and the completions of shells are printed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nb_job_key;
struct nb_results;

/* From HELP_SCDOC on in the order of the choices of --help. */
enum { HELP_NONE, HELP_TEXT, HELP_SCDOC, HELP_SCDOC_WORKLOAD, HELP_BASH, HELP_ZSH };

/** What was typed, or the defaults. Texts are borrowed from argv. */
struct options {
	size_t action;         /* ACTION_*; ACTION_COUNT: none was given */
	const char *operand;   /* the first one of the action; NULL: none was given */
	const char **operands; /* all of them */
	size_t operand_count;
	const char *path, *driver, *keys, *only, *workload;
	const char **engine_options; /* "name=value", in the order in which they came */
	size_t engine_option_count;
	char **job_settings; /* "key=value" or "group.key=value", as nb_job_set() takes them */
	size_t job_setting_count;
	uint64_t key_size, value_size, count, threads, report_interval, cache_bytes, seed;
	uint64_t hang_after_ns, op_timeout_ns;
	const char *from, *to, *load, *trace, *record; /* traces; NULL: not given */
	const char *steady, *slo;
	const char *output, *hlog, *csv, *notebook; /* files of results; NULL: not asked for */
	const char *allowed;                        /* notes that --strict lets pass, "a,b" */
	const char *workload_name;        /* that the result shows; NULL: `workload` */
	const struct nb_results *same_as; /* of which this is to be a repetition; NULL: none */
	const char *max_regress, *precision;
	const char *const *words; /* as typed, without the program */
	size_t word_count;
	uint64_t procs, interval_ns, sample_ns, phase;
	uint64_t durability, settle, clock, format; /* index into the option's choices */
	uint64_t from_format, to_format, key_bytes, bare_kind; /* the same */
	uint64_t report_format, compare_format;                /* the same */
	uint64_t runs, budget_ns;
	const char *keep, *again;
	uint64_t rounds, ops, moment, states, file_system;
	uint64_t help; /* HELP_* */
	double value_ratio, verify_rate, speed, confidence;
	bool is_pinned, allows_missing, is_fresh, is_folded, is_quiet, wants_version, skips_bad,
		is_sweep, is_strict, is_cold, has_hardware, is_forced, is_power;
	uint64_t given[2]; /* bits, see options_were_given() */
};

/** What the value of an option is, and so the field that takes it. */
enum option_type {
	OPTION_FLAG,   /* bool, and no value */
	OPTION_TEXT,   /* const char *, not empty */
	OPTION_COUNT,  /* uint64_t, min..max */
	OPTION_BYTES,  /* the same, in bytes */
	OPTION_TIME,   /* uint64_t, ns */
	OPTION_SPEED,  /* double above 0, "2x" */
	OPTION_REAL,   /* double, min..max */
	OPTION_CHOICE, /* uint64_t, index into choices */
	OPTION_ACTION, /* size_t, ACTION_* */
	OPTION_LIST,   /* one more engine option */
	OPTION_SET,    /* one more setting of the job */
	OPTION_HELP    /* uint64_t, HELP_*; may have a value, behind '=' only */
};

enum option_group {
	GROUP_DATA,     /* what is done, to which data */
	GROUP_WORKLOAD, /* the same, of what has more than one kind of operation */
	GROUP_TRACE,    /* traces */
	GROUP_ENGINE,   /* how the engine is set up */
	GROUP_MEASURE,  /* how it is measured */
	GROUP_COMPARE,  /* how runs are compared */
	GROUP_CRASH,    /* how engines are ended */
	GROUP_OUTPUT,   /* what is printed */
	GROUP_COUNT
};

/** What completion offers for a value that is no choice. */
enum option_words { WORDS_NONE, WORDS_FILE, WORDS_DIRECTORY, WORDS_DRIVER, WORDS_WORKLOAD };

struct option_row {
	const char *name;
	char letter;         /* 0: none */
	const char *arg;     /* what the value is called; NULL: no value */
	const char *def;     /* as it would be typed; NULL: none */
	const char *choices; /* "auto|tsc|monotonic"; NULL: any */
	const char *help;    /* one line */
	const char *detail;  /* sentences for the man page; NULL: none */
	const char *job_key; /* of jobs, which it also sets if it is typed; NULL: none */
	uint64_t min, max;
	unsigned actions; /* ACTION_BIT() of those that look at it */
	unsigned decides; /* of those that refuse it unless they look at it: it would change
			     what they measure, or their verdict */
	unsigned writers; /* of those that write the file which it names (replace.h) */
	enum option_group group;
	enum option_type type;
	enum option_words words;
	size_t offset; /* of the field in struct options */
};

/** Ended by a NULL name. */
extern const struct option_row option_table[];

/**
 * Whether a row before has that letter (0: none is asked for), or that name (NULL: likewise), and is looked at by
 * one of the actions: then it is meant there.
 */
bool
options_have_before(
	const struct option_row *row, char letter, const char *name, unsigned action_bits);

/**
 * The next key of jobs that is an option, behind `key`, or the first if that is NULL; NULL
 * at the end. Those whose name a row of the table has are left out: that row sets them.
 */
const struct nb_job_key *
options_next_job_key(const struct nb_job_key *key);

/** Title of a group of options. */
extern const char *const option_groups[GROUP_COUNT];

/**
 * Read the words. False if they make no sense, which then has been said; there
 * is nothing to destroy.
 */
bool
options_parse(struct options *options, int argc, char **argv);

void
options_destroy(struct options *options);

/** Name of the action. */
const char *
options_action(const struct options *options);

/** The choice that was made of an option that has some, by its name; owned by the caller. */
char *
options_choice(const struct options *options, const char *name);

/** Options as they are in force, by name. */
struct options_list {
	const char **names;
	char **values;
	size_t count;
};

/** Those that the action looks at and that have a value. False if memory does not reach. */
bool
options_list(struct options_list *list, const struct options *options);

void
options_list_destroy(struct options_list *list);

/** Whether the option of that (long) name was typed. */
bool
options_were_given(const struct options *options, const char *name);

#endif /* CLI_OPTIONS_H */
