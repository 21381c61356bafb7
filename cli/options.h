/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
/**
 * The options: rows, from which the command line is parsed and --help, the manual page and
 * completions are printed. Options of several actions are in options_table.c; an action's
 * own options stand in its file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;
struct nb_job_key;
struct nb_results;

enum { OPTIONS_MAX = 128 };

/* From HELP_SCDOC on in the order of the choices of --help. */
enum { HELP_NONE, HELP_TEXT, HELP_SCDOC, HELP_SCDOC_WORKLOAD, HELP_BASH, HELP_ZSH };

/** The options as typed, or their defaults. Texts are borrowed from argv. */
struct options {
	const struct cmd *action; /* NULL: none was given */
	const char *operand;      /* the first one of the action; NULL: none was given */
	const char **operands;    /* all of them */
	size_t operand_count;
	const char *path, *driver, *keys, *workload, *servers, *pinirq;
	const char **engine_options; /* "name=value", in the order of the command line */
	size_t engine_option_count;
	char **job_settings; /* "key=value" or "group.key=value", as nb_job_set() takes them */
	size_t job_setting_count;
	uint64_t key_size, value_size, count, threads, report_interval, cache_bytes, seed;
	uint64_t hang_after_ns, op_timeout_ns;
	const char *load, *trace, *record; /* traces; NULL: not given */
	const char *steady, *latency, *start_at;
	const char *output, *hlog, *csv, *notebook; /* files of results; NULL: not given */
	const char *allowed;                        /* notes that --strict ignores, "a,b" */
	const char *workload_name;                  /* for the result; NULL: `workload` */
	const struct nb_results *same_as; /* results that this run repeats; NULL: none */
	const char *const *words;         /* as typed, without the program */
	size_t word_count;
	size_t action_from, action_to;        /* range of the words that name the action */
	uint64_t memory_bytes;                /* 0: no limit */
	const struct nb_memory_group *memory; /* group of this process; NULL: none */
	uint64_t procs, interval_ns, sample_ns, depth, batch_bytes, checkpoint_every_ns;
	uint64_t durability, settle, clock, format, key_bytes; /* index into the choices */
	uint64_t help;                                         /* HELP_* */
	double value_ratio, verify_rate, speed, confidence;
	bool is_pinned, allows_missing, is_fresh, is_folded, is_quiet, wants_version, skips_bad,
		is_array, is_strict, is_cold, is_shuffled, has_hardware, is_forced;
	bool is_rank;            /* the child of a rank, or its rank: see ranks.h */
	bool given[OPTIONS_MAX]; /* by the index in option_table() */
};

/** The type of an option's value, and of its field. */
enum option_type {
	OPTION_FLAG,   /* bool, and no value */
	OPTION_TEXT,   /* const char *, not empty */
	OPTION_COUNT,  /* uint64_t, min..max */
	OPTION_BYTES,  /* the same, in bytes */
	OPTION_TIME,   /* uint64_t, ns */
	OPTION_SPEED,  /* double above 0, "2x" */
	OPTION_REAL,   /* double, min..max */
	OPTION_CHOICE, /* uint64_t, index into choices */
	OPTION_ACTION, /* const struct cmd * */
	OPTION_LIST,   /* one more engine option */
	OPTION_SET,    /* one more setting of the job */
	OPTION_HELP    /* uint64_t, HELP_*; the value is optional, after '=' */
};

enum option_group {
	GROUP_DATA,     /* action and data */
	GROUP_WORKLOAD, /* the same, for several kinds of operations */
	GROUP_TRACE,    /* traces */
	GROUP_ENGINE,   /* setup of the engine */
	GROUP_MEASURE,  /* measurement */
	GROUP_COMPARE,  /* comparison of runs */
	GROUP_CRASH,    /* crash tests */
	GROUP_OUTPUT,   /* output */
	GROUP_COUNT
};

/** The words that completion offers for a value without choices. */
enum option_words { WORDS_NONE, WORDS_FILE, WORDS_DIRECTORY, WORDS_DRIVER, WORDS_WORKLOAD };

struct option_row {
	const char *name;
	char letter;         /* 0: none */
	const char *arg;     /* name of the value; NULL: no value */
	const char *def;     /* as typed; NULL: none */
	const char *choices; /* "auto|tsc|monotonic"; NULL: any */
	const char *help;    /* one line */
	const char *detail;  /* sentences for the manual page; NULL: none */
	const char *job_key; /* key of workloads that it also sets if given; NULL: none */
	uint64_t min, max;
	enum option_group group;
	enum option_type type;
	enum option_words words;
	bool is_for_all; /* all actions use it */
	bool decides;    /* it affects the measurement or the verdict */
	bool is_output;  /* it names a file that the action writes */
	size_t offset;   /* offset of the field in struct options, unless `into` is set */
	void *into;      /* the field of an action's own option */
	/*
	 * Position in the list: an action's own row comes before the option of that name; NULL:
	 * after its previous row.
	 */
	const char *before;
	/* Set by option_table(): */
	const struct option_row *source; /* the original row */
	uint32_t takers;                 /* bit i: cmds[i] uses it */
};

/** All options: the common ones and those of each action. Ended by a NULL name. */
const struct option_row *
option_table(void);

/** Whether the action uses the option; with `cmd` NULL, whether any action does. */
bool
option_is_of(const struct option_row *row, const struct cmd *cmd);

enum { TAKERS_SIZE = 256 };

/** "put, get": the actions that use the option; NULL: keys of workloads. Returns `text`. */
const char *
option_takers(char text[TAKERS_SIZE], const struct option_row *row);

/** Whether the option names a file that the action writes. */
bool
option_is_written(const struct option_row *row, const struct cmd *cmd);

/** Whether the action rejects the option, if it does not use it. */
bool
option_is_rejected(const struct option_row *row, const struct cmd *cmd);

/** The field for the value. */
void *
option_field(const struct options *options, const struct option_row *row);

/**
 * Find an option by its name. If several have the name, return the option that the action uses;
 * if it uses none of them, the first. NULL: no option has the name.
 */
const struct option_row *
option_find(const char *name, size_t length, const struct cmd *action);

/** Appends to a list: ", " unless it is empty, `before` and the word. */
void
options_add_word(char *list, size_t size, const char *before, const char *word);

/**
 * The next key of workloads that is an option, after `key` (NULL: the first); NULL at the
 * end. It skips a key that has the name of a row: the row sets it.
 */
const struct nb_job_key *
options_next_job_key(const struct nb_job_key *key);

/** Title of a group of options. */
extern const char *const option_groups[GROUP_COUNT];

/** Parses the command line. STATUS_DONE, or the error was reported. */
int
options_parse(struct options *options, int argc, char **argv);

enum { CHOICE_SIZE = 32 };

/** The choice of the action's option of that name, in `text`; "" if it has no such option. */
const char *
options_choice(const struct options *options, const char *name, char text[CHOICE_SIZE]);

/** Whether a list contains the word; spaces or commas separate words; NULL: an empty list. */
bool
options_has_word(const char *list, const char *word);

/** Options in force, by name. */
struct options_list {
	const char **names;
	char **values;
	size_t count;
};

/** The options that the action uses and that have a value. */
struct options_list
options_list(const struct options *options);

/** Whether the option of that long name was given. */
bool
options_were_given(const struct options *options, const char *name);

#endif /* CLI_OPTIONS_H */
