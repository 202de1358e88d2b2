/* The processes behind tun devices: who they are, which ports they tunnel by, what CPU they use. */
#ifndef OVL_COLLECT_TUNDAEMON_H
#define OVL_COLLECT_TUNDAEMON_H

#include <stdint.h>

#include "bpf/abi.h"
#include "model/facts.h"

#define OVL_TUNDAEMON_PORTS 8

/**
 * Find the process that holds each tun device of the facts open (/proc/PID/fdinfo names the device;
 * one name in several namespaces is told apart by the process's own) and fill facts->daemons.
 * ports: UDP ports of their sockets, at most OVL_TUNDAEMON_PORTS, the rest 0. 0 or -ENOMEM;
 * processes that may not be looked into are not found.
 */
int ovl_tundaemon_find(struct ovl_facts *facts, uint16_t ports[OVL_TUNDAEMON_PORTS]);
/** CPU time of a process so far, in clock ticks' precision. 0, or -errno when it is gone. */
int ovl_tundaemon_cpu(int pid, uint64_t *user_ns, uint64_t *kernel_ns);
/**
 * Name of a system call by number, "syscall_N" for one that moves no packets. *bytes: its answer is
 * the number of bytes moved.
 */
const char *ovl_tundaemon_syscall(uint32_t nr, char *room, size_t n, bool *bytes);

#endif
