/* A tun device that stays when nobody has it open, for a daemon to come and go. */
#ifndef OVL_LAB_TUN_H
#define OVL_LAB_TUN_H

/** Make it in the calling thread's network namespace. 0 or -errno (-ENOENT: no tun here). */
int ovl_tun_add(const char *name);

#endif
