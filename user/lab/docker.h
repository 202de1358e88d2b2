/*
 * What Docker's topologies have in common: a host, bridges with containers, the rules that Docker
 * makes for them (as nftables: the kernel sees the same hooks).
 */
#ifndef OVL_LAB_DOCKER_H
#define OVL_LAB_DOCKER_H

#include <stdint.h>

#include "lab/plan.h"

/** One network of a host: docker0 or a user-defined bridge, and its /16. */
struct ovl_docker_net {
	const char *bridge; /* "docker0" */
	uint8_t octet;	    /* 172.octet.0.0/16 */
	const char *prefix; /* of its containers' names: "c", "u" */
};

/** The host: node1, its loopback. */
uint8_t ovl_docker_host(struct ovl_plan *plan);
/**
 * Make a bridge with n containers, PREFIX1 …, alternately on the sender's and the receiver's side
 * (the first: `side`). Returns the first container's index; the others follow it.
 */
uint8_t ovl_docker_network(struct ovl_plan *plan, uint8_t host, const struct ovl_docker_net *net,
			   uint32_t n, char side);
/** Address of the container of that number (from 0) in a network. */
void ovl_docker_addr(const struct ovl_docker_net *net, uint32_t container, ovl_plan_addr out);
/**
 * Rules for these networks on the host: masquerading, forwarding of what belongs together, no
 * traffic between networks; published_port of the first network's first container, 0: none.
 */
void ovl_docker_rules(struct ovl_plan *plan, uint8_t host, const struct ovl_docker_net *nets,
		      uint32_t n_nets, uint16_t published_port);

#endif
