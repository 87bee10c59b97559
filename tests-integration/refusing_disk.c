/* Refuses one call on a file below a folder: the FAULT_NTH one of FAULT_CALL, with FAULT_ERRNO,
   and FAULT_FOR calls of that kind from there. Where FAULT_ERRNO is 0, the process is killed there
   instead. FAULT_AT is a pattern of paths below the folder, if not all of them are meant.
   FAULT_CLOCK puts the time of day off by so many seconds, FAULT_LOCKS has flock fail with it.
   fault_counted says how many calls there were.
   Preloaded by test_refusing_disk.py and by what is in torture. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int fault_counted;

static int wanted(const char *call)
{
    const char *kind = getenv("FAULT_CALL");
    return kind && !strcmp(kind, call);
}

static int refuses(const char *call, const char *path)
{
    const char *below = getenv("FAULT_BELOW"), *at = getenv("FAULT_AT");
    if (!wanted(call) || !below || !path || strncmp(path, below, strlen(below)))
        return 0;
    const char *rest = path + strlen(below);
    if (at && fnmatch(at, rest + (*rest == '/'), 0))
        return 0;
    int now = __sync_add_and_fetch(&fault_counted, 1), first = atoi(getenv("FAULT_NTH"));
    if (now < first || now >= first + atoi(getenv("FAULT_FOR")))
        return 0;
    errno = atoi(getenv("FAULT_ERRNO"));
    if (!errno)
        kill(getpid(), SIGKILL);
    return 1;
}

static int refuses_file(const char *call, int file)
{
    char link[64], path[4096];
    if (!wanted(call))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return refuses(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *data, size_t size)
{
    return refuses_file("write", file) ? -1 : REAL(write)(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at)
{
    return refuses_file("write", file) ? -1 : REAL(pwrite)(file, data, size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at)
{
    return refuses_file("write", file) ? -1 : REAL(pwrite64)(file, data, size, at);
}

ssize_t read(int file, void *data, size_t size)
{
    return refuses_file("read", file) ? -1 : REAL(read)(file, data, size);
}

ssize_t pread(int file, void *data, size_t size, off_t at)
{
    return refuses_file("read", file) ? -1 : REAL(pread)(file, data, size, at);
}

ssize_t pread64(int file, void *data, size_t size, off64_t at)
{
    return refuses_file("read", file) ? -1 : REAL(pread64)(file, data, size, at);
}

ssize_t writev(int file, const struct iovec *data, int count)
{
    return refuses_file("write", file) ? -1 : REAL(writev)(file, data, count);
}

int ftruncate(int file, off_t size)
{
    return refuses_file("truncate", file) ? -1 : REAL(ftruncate)(file, size);
}

int ftruncate64(int file, off64_t size)
{
    return refuses_file("truncate", file) ? -1 : REAL(ftruncate64)(file, size);
}

int mkdir(const char *path, mode_t mode)
{
    return refuses("create", path) ? -1 : REAL(mkdir)(path, mode);
}

int flock(int file, int operation)
{
    const char *number = getenv("FAULT_LOCKS");
    if (!number)
        return REAL(flock)(file, operation);
    errno = atoi(number);
    return -1;
}

int unlink(const char *path) { return refuses("unlink", path) ? -1 : REAL(unlink)(path); }

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *off = getenv("FAULT_CLOCK");
    int done = REAL(clock_gettime)(clock, now);
    if (!done && off && clock == CLOCK_REALTIME)
        now->tv_sec += atol(off);
    return done;
}

int fsync(int file) { return refuses_file("fsync", file) ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return refuses_file("fsync", file) ? -1 : REAL(fdatasync)(file); }

int rename(const char *from, const char *to)
{
    return refuses("rename", from) ? -1 : REAL(rename)(from, to);
}

#define OPENS(name)                                                             \
    int name(const char *path, int flags, ...)                                  \
    {                                                                           \
        va_list more;                                                           \
        va_start(more, flags);                                                  \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;       \
        va_end(more);                                                           \
        if (flags & (O_CREAT | O_WRONLY | O_RDWR) && refuses("create", path))   \
            return -1;                                                          \
        return REAL(name)(path, flags, mode);                                   \
    }

OPENS(open)
OPENS(open64)
