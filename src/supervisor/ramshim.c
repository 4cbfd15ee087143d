/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim.c - preloaded into QEMU: names of files become descriptors
 *
 * QEMU before 8.2 opens the RAM file for writing even for a private mapping,
 * and the file is shared by all sandboxes of a template; kernel and initramfs
 * it takes by name only. So "/bawn/NAME" opens as a duplicate of the inherited
 * descriptor that BAWN_SHIM_FDS ("ram=10,kernel=11") names; what may be done
 * with it was decided when the descriptor was made, and the flags of this open
 * do not matter. "kvm" stands for /dev/kvm, which a sandbox's own uid could not
 * open. All other paths go to the kernel as they are. Where that RAM file is
 * mapped, ramshim_holes.c has its holes.
 *
 * And execve ends here: the filter that was installed before this exec had to
 * allow one.
 *
 * Only libc, and as little of it as possible: this runs in somebody else's
 * process.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/ramshim_holes.h"

#define FOLDER "/bawn/"
#define RAM "ram"
#define KVM "/dev/kvm"
#define FILES_MAX 8
#define NAME_LEN_MAX 15

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define FOREIGN_BIT 0x40000000 /* x32 */
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define FOREIGN_BIT 0x80000000 /* there is none */
#else
#error "which architecture is this?"
#endif

/* libc's own names, which its headers do not all declare. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

static struct file {
	char name[NAME_LEN_MAX + 1];
	int fd;
} files[FILES_MAX];
static size_t file_count;

static _Noreturn void give_up(const char *why)
{
	static const char prefix[] = "bawn-ramshim: ";

	if (write(2, prefix, sizeof(prefix) - 1) < 0 ||
	    write(2, why, strlen(why)) < 0 || write(2, "\n", 1) < 0)
		_exit(125);
	_exit(126);
}

/* "name=fd" up to the next comma; the supervisor wrote it, so errors end us. */
static const char *parse_one(const char *text)
{
	struct file *file = &files[file_count];
	size_t len = strcspn(text, "=");
	char *end;
	long fd;

	if (file_count == FILES_MAX || len == 0 || len > NAME_LEN_MAX ||
	    text[len] != '=')
		give_up("BAWN_SHIM_FDS is malformed");
	fd = strtol(text + len + 1, &end, 10);
	if (end == text + len + 1 || (*end && *end != ',') || fd < 3 ||
	    fd > 65535)
		give_up("BAWN_SHIM_FDS is malformed");
	memcpy(file->name, text, len);
	file->fd = (int)fd;
	if (fcntl(file->fd, F_SETFD, FD_CLOEXEC) < 0)
		give_up("BAWN_SHIM_FDS names a closed descriptor");
	file_count++;
	return *end ? end + 1 : end;
}

static void forbid_exec(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_BIT, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {
		.len = sizeof(program) / sizeof(program[0]),
		.filter = program,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
		give_up("no seccomp filter");
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("BAWN_SHIM_FDS");

	while (text && *text)
		text = parse_one(text);
	unsetenv("BAWN_SHIM_FDS");
	unsetenv("LD_PRELOAD");
	forbid_exec();
}

/* -2: not one of ours. */
static int open_ours(const char *path)
{
	int fd;

	if (strncmp(path, FOLDER, sizeof(FOLDER) - 1) == 0)
		path += sizeof(FOLDER) - 1;
	else if (strcmp(path, KVM) == 0)
		path = "kvm";
	else
		return -2;
	for (size_t i = 0; i < file_count; i++) {
		if (strcmp(files[i].name, path) != 0)
			continue;
		fd = fcntl(files[i].fd, F_DUPFD_CLOEXEC, 3);
		/* Duplicates share their position: an open starts at 0. */
		if (fd >= 0)
			lseek(fd, 0, SEEK_SET);
		return fd;
	}
	return -2;
}

static int open_any(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = open_ours(path);

	if (fd != -2)
		return fd;
	return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

static bool takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define OPEN_WITH_MODE(dirfd, path, flags)                  \
	do {                                                \
		mode_t mode_ = 0;                           \
		va_list arguments_;                         \
                                                            \
		va_start(arguments_, flags);                \
		if (takes_mode(flags))                      \
			mode_ = va_arg(arguments_, mode_t); \
		va_end(arguments_);                         \
		return open_any(dirfd, path, flags, mode_); \
	} while (0)

int open(const char *path, int flags, ...)
{
	OPEN_WITH_MODE(AT_FDCWD, path, flags);
}

int open64(const char *path, int flags, ...)
{
	OPEN_WITH_MODE(AT_FDCWD, path, flags);
}

int openat(int dirfd, const char *path, int flags, ...)
{
	OPEN_WITH_MODE(dirfd, path, flags);
}

int openat64(int dirfd, const char *path, int flags, ...)
{
	OPEN_WITH_MODE(dirfd, path, flags);
}

int __open_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dirfd, const char *path, int flags)
{
	return open_any(dirfd, path, flags, 0);
}

int __openat64_2(int dirfd, const char *path, int flags)
{
	return open_any(dirfd, path, flags, 0);
}

static bool is_ram(int fd)
{
	struct stat ours, theirs;

	for (size_t i = 0; i < file_count; i++)
		if (strcmp(files[i].name, RAM) == 0)
			return fstat(files[i].fd, &ours) == 0 &&
			       fstat(fd, &theirs) == 0 &&
			       ours.st_dev == theirs.st_dev &&
			       ours.st_ino == theirs.st_ino;
	return false;
}

static struct {
	char *start;
	size_t size;
} ram;

static void *map_any(void *address, size_t size, int rights, int flags, int fd,
		     off_t offset)
{
	void *mapped = (void *)syscall(SYS_mmap, address, size, rights, flags,
				       fd, offset);

	if (mapped == MAP_FAILED || fd < 0 || offset ||
	    (flags & MAP_TYPE) != MAP_PRIVATE || !(rights & PROT_WRITE) ||
	    !is_ram(fd))
		return mapped;
	if (holes_map(mapped, size, rights, fd) < 0)
		return MAP_FAILED;
	ram.start = mapped;
	ram.size = size;
	return mapped;
}

void *mmap(void *address, size_t size, int rights, int flags, int fd,
	   off_t offset)
{
	return map_any(address, size, rights, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int rights, int flags, int fd,
	     off64_t offset)
{
	return map_any(address, size, rights, flags, fd, offset);
}

/* QEMU asks for huge pages: ramshim_holes.c says why not. */
int madvise(void *address, size_t size, int advice)
{
	if (advice == MADV_HUGEPAGE && ram.size &&
	    (char *)address >= ram.start &&
	    (char *)address < ram.start + ram.size)
		return 0;
	return (int)syscall(SYS_madvise, address, size, advice);
}

typedef FILE *fopen_fn(const char *path, const char *mode);

static FILE *fopen_any(const char *path, const char *mode)
{
	static fopen_fn *next;
	int fd = open_ours(path);
	FILE *file;

	if (fd == -1)
		return NULL;
	if (fd >= 0) {
		file = fdopen(fd, mode);
		if (!file)
			close(fd);
		return file;
	}
	if (!next)
		next = (fopen_fn *)dlsym(RTLD_NEXT, "fopen64");
	if (!next) {
		errno = ENOSYS;
		return NULL;
	}
	return next(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return fopen_any(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen_any(path, mode);
}
