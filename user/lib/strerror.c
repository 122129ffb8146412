/*
 * What an error number means, in the words of other Unixes. The C library's own
 * table knows other numbers (sys/errno.h). _strerror_r is what the rest of its
 * functions of this kind are made of.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const texts[] = {
    [0] = "Success",
    [EPERM] = "Operation not permitted",
    [ENOENT] = "No such file or directory",
    [ESRCH] = "No such process",
    [EINTR] = "Interrupted system call",
    [EIO] = "Input/output error",
    [ENXIO] = "No such device or address",
    [E2BIG] = "Argument list too long",
    [ENOEXEC] = "Exec format error",
    [EBADF] = "Bad file descriptor",
    [ECHILD] = "No child processes",
    [EAGAIN] = "Resource temporarily unavailable",
    [ENOMEM] = "Not enough memory",
    [EACCES] = "Permission denied",
    [EFAULT] = "Bad address",
    [ENOTBLK] = "Block device required",
    [EBUSY] = "Device or resource busy",
    [EEXIST] = "File exists",
    [EXDEV] = "Cross-device link",
    [ENODEV] = "No such device",
    [ENOTDIR] = "Not a directory",
    [EISDIR] = "Is a directory",
    [EINVAL] = "Invalid argument",
    [ENFILE] = "Too many open files in system",
    [EMFILE] = "Too many open files",
    [ENOTTY] = "Not a terminal, or request not supported by file",
    [ETXTBSY] = "Text file busy",
    [EFBIG] = "File too large",
    [ENOSPC] = "No space left on device",
    [ESPIPE] = "Illegal seek",
    [EROFS] = "Read-only file system",
    [EMLINK] = "Too many links",
    [EPIPE] = "Broken pipe",
    [EDOM] = "Argument out of domain",
    [ERANGE] = "Result out of range",
    [EDEADLK] = "Deadlock avoided",
    [ENAMETOOLONG] = "File name too long",
    [ENOLCK] = "No locks available",
    [ENOSYS] = "Function not implemented",
    [ENOTEMPTY] = "Directory not empty",
    [ELOOP] = "Too many symbolic links",
    [ENOMSG] = "No such message",
    [EIDRM] = "Identifier removed",
    [ENOSTR] = "Not a stream",
    [ENODATA] = "No data available",
    [ETIME] = "Timer expired",
    [ENOSR] = "Out of stream resources",
    [ENOLINK] = "Link severed",
    [EPROTO] = "Protocol error",
    [EMULTIHOP] = "Multihop attempted",
    [EBADMSG] = "Bad message",
    [EOVERFLOW] = "Value too large for its type",
    [EUSERS] = "Too many users",
    [ENOTSOCK] = "Not a socket",
    [EDESTADDRREQ] = "Destination address required",
    [EMSGSIZE] = "Message too long",
    [EPROTOTYPE] = "Protocol wrong for socket",
    [ENOPROTOOPT] = "Protocol option not available",
    [EPROTONOSUPPORT] = "Protocol not supported",
    [ESOCKTNOSUPPORT] = "Socket type not supported",
    [EOPNOTSUPP] = "Operation not supported",
    [EPFNOSUPPORT] = "Protocol family not supported",
    [EAFNOSUPPORT] = "Address family not supported",
    [EADDRINUSE] = "Address in use",
    [EADDRNOTAVAIL] = "Address not available",
    [ENETDOWN] = "Network is down",
    [ENETUNREACH] = "Network is unreachable",
    [ENETRESET] = "Connection reset by network",
    [ECONNABORTED] = "Connection aborted",
    [ECONNRESET] = "Connection reset by peer",
    [ENOBUFS] = "No buffer space available",
    [EISCONN] = "Socket is connected",
    [ENOTCONN] = "Socket is not connected",
    [ESHUTDOWN] = "Socket is shut down",
    [ETOOMANYREFS] = "Too many references",
    [ETIMEDOUT] = "Timed out",
    [ECONNREFUSED] = "Connection refused",
    [EHOSTDOWN] = "Host is down",
    [EHOSTUNREACH] = "Host is unreachable",
    [EALREADY] = "Already in progress",
    [EINPROGRESS] = "In progress",
    [ESTALE] = "Stale file handle",
    [EDQUOT] = "Disk quota exceeded",
    [ECANCELED] = "Canceled",
    [EOWNERDEAD] = "Owner died",
    [ENOTRECOVERABLE] = "State not recoverable",
    [EILSEQ] = "Illegal byte sequence",
};

char *_strerror_r(int error, int internal, int *unknown);

char *
strerror(int error)
{
	static char other[sizeof("Unknown error -2147483648")];

	if (error >= 0 && error < (int)(sizeof(texts) / sizeof(texts[0])) &&
	    texts[error] != NULL)
		return (char *)texts[error];
	snprintf(other, sizeof(other), "Unknown error %d", error);
	return other;
}

char *
strerror_l(int error, locale_t locale)
{
	(void)locale;
	return strerror(error);
}

/* `unknown', unless it is NULL, gets what has no text: here all have one. */
char *
_strerror_r(int error, int internal, int *unknown)
{
	(void)internal;
	(void)unknown;
	return strerror(error);
}
