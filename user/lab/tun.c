#include "lab/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

int ovl_tun_add(const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	ovl_str_copy(ifr.ifr_name, sizeof(ifr.ifr_name), name);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0 || ioctl(fd, TUNSETPERSIST, 1) < 0)
		rc = -errno;
	close(fd);
	return rc;
}
