/* Exit codes of the program: part of the public contract, see README "Exit codes". */
#ifndef OVL_BASE_EXIT_H
#define OVL_BASE_EXIT_H

enum ovl_exit {
	OVL_EXIT_OK = 0,       /* done; also after q, ^C and SIGTERM */
	OVL_EXIT_FAILED = 1,   /* the run failed */
	OVL_EXIT_USAGE = 2,    /* the command line cannot be understood */
	OVL_EXIT_LIMIT = 3,    /* a limit the user set was exceeded */
	OVL_EXIT_RIGHTS = 4,   /* a right (capability) is missing */
	OVL_EXIT_KERNEL = 5,   /* the kernel lacks what is needed */
	OVL_EXIT_PEER = 6,     /* the peer is unreachable, busy or incompatible */
	OVL_EXIT_INPUT = 7,    /* an interface or recording was not found or is unreadable */
	OVL_EXIT_SKIPPED = 77, /* a test that cannot run here */
};

/** Name of an exit code, e.g. "rights"; "unknown" for others. */
const char *ovl_exit_name(int code);

#endif
