/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - typed messages between supervisor and bawn-init
 * (PROTOCOL.md §4)
 *
 * One struct, one row in the table for each. Decoded strings and lists of
 * strings point into the bytes given to message_decode() and live as long as
 * those; entropy, machine-id and marker are copied. After a failed decode the
 * struct is not to be used. For encoding, a NULL string is an empty one, and
 * a list needs count and first only.
 *
 * What a decoder accepts is well formed, not sensible: versions, session and
 * stream numbers, signals and an empty argv are for its user to check.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1
#define MESSAGE_ARGS_MAX 4096
#define MESSAGE_ENTROPY_BYTES 64
#define MESSAGE_MARKER_BYTES 32
#define MESSAGE_ID_BYTES 16
#define MESSAGE_PROBLEM_BYTES 256

enum message_type {
	MESSAGE_HELLO = 1,       /* guest: version, features, kernel release */
	MESSAGE_WAKE,            /* host: clock, entropy, identity, shares */
	MESSAGE_AWAKE,           /* guest: done with WAKE, or what failed */
	MESSAGE_SESSION_START,   /* host */
	MESSAGE_SESSION_STARTED, /* guest: pid, or errno and what failed */
	MESSAGE_SESSION_SIGNAL,  /* host */
	MESSAGE_SESSION_RESIZE,  /* host */
	MESSAGE_SESSION_KILL,    /* host: the whole process tree */
	MESSAGE_SESSION_EXITED,  /* guest: wait status */
	MESSAGE_PREPARE,        /* host: a snapshot is coming; marker follows */
	MESSAGE_PREPARED,       /* guest: quiet now */
	MESSAGE_POWER_OFF,      /* host: sync, unmount, power off */
	MESSAGE_STATS,          /* host asks (empty), guest answers */
	MESSAGE_SESSION_ATTACH, /* host: streams for a session of before */

	MESSAGE_TYPES,
};

struct message_strings {
	uint32_t count;
	const char *first; /* count NUL-terminated strings, one after another */
	const char *end;   /* after the last; set by decode, may be NULL */
};

/* Walks the strings: s = message_string_next(&strings, NULL), then s. */
const char *message_string_next(const struct message_strings *strings,
				const char *previous);

struct message_hello {
	uint32_t version;
	uint32_t features; /* unknown bits are ignored */
	const char *kernel_release;
	bool primed; /* page cache is warm: ready for a snapshot */
};

struct message_wake {
	uint64_t wall_clock_ns;
	uint8_t entropy[MESSAGE_ENTROPY_BYTES];
	uint8_t machine_id[MESSAGE_ID_BYTES];
	const char *hostname;
	uint32_t shares;       /* to be mounted before AWAKE */
	const char *authority; /* PEM, to be trusted; "": none */
	const char *git;       /* configuration for git; "": none */
};

struct message_awake {
	/* "": all well. Not longer than MESSAGE_PROBLEM_BYTES; any bytes. */
	const char *problem;
};

enum session_flags {
	SESSION_PTY = 1 << 0,
	SESSION_STDIN = 1 << 1,       /* otherwise stdin is /dev/null */
	SESSION_NO_OUTPUT = 1 << 2,   /* stdout and stderr are /dev/null */
	SESSION_MAKE_FOLDER = 1 << 3, /* as root, if it is missing */
};

struct message_session_start {
	uint32_t session; /* chosen by the host, never reused in an epoch */
	uint32_t flags;
	uint32_t stdio_stream;  /* stdin and stdout */
	uint32_t stderr_stream; /* 0 with a pty: stderr is the terminal */
	uint16_t rows, cols;
	const char *user; /* "name", "uid", "name:group", "uid:gid"; "" = agent
			     if the template has it, else root */
	const char *folder; /* working folder; "" = the user's home */
	struct message_strings argv;
	struct message_strings env; /* "K=V"; on top of the guest's defaults */
};

enum session_stage { /* where a start failed */
		     SESSION_STAGE_OK,
		     SESSION_STAGE_USER,   /* no such user */
		     SESSION_STAGE_FOLDER, /* cannot enter the folder */
		     SESSION_STAGE_EXEC,   /* not found or not executable */
		     SESSION_STAGE_OTHER,
};

struct message_session_started {
	uint32_t session;
	uint32_t pid;   /* 0 = failed */
	uint32_t error; /* errno */
	uint32_t stage; /* enum session_stage */
};

struct message_session_signal {
	uint32_t session;
	uint32_t signal;
};

struct message_session_resize {
	uint32_t session;
	uint16_t rows, cols;
};

struct message_session_kill {
	uint32_t session;
};

struct message_session_exited {
	uint32_t session;
	uint32_t status; /* as of waitpid() */
};

/* After a restore: a session that the snapshot has gets streams again. */
struct message_session_attach {
	uint32_t session;
	uint32_t stdio_stream;
	uint32_t stderr_stream; /* 0 with a pty */
};

struct message_prepare {
	uint8_t marker[MESSAGE_MARKER_BYTES];
};

struct message_stats {
	uint64_t memory_total_bytes, memory_available_bytes;
	uint64_t disk_total_bytes, disk_free_bytes;
	uint64_t cpu_busy_ms;
	uint32_t processes;
};

struct message {
	enum message_type type;
	union {
		struct message_hello hello;
		struct message_wake wake;
		struct message_awake awake;
		struct message_session_start session_start;
		struct message_session_started session_started;
		struct message_session_signal session_signal;
		struct message_session_resize session_resize;
		struct message_session_kill session_kill;
		struct message_session_exited session_exited;
		struct message_session_attach session_attach;
		struct message_prepare prepare;
		struct message_stats stats;
	};
};

/* Bytes written, or -1 when it does not fit. */
long message_encode(const struct message *message, void *out, size_t size);
/* Strict: unknown type, short, trailing bytes, bad counts are -1. */
int message_decode(const void *bytes, size_t len, struct message *message);
const char *message_name(enum message_type type);
