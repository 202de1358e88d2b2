/*
 * What flannel's and Kubernetes' topologies have in common: nodes on one underlay, a bridge cni0
 * with pods on each node, addresses as flannel and kubeadm give them.
 */
#ifndef OVL_LAB_CLUSTER_H
#define OVL_LAB_CLUSTER_H

#include <stdint.h>

#include "lab/plan.h"

#define OVL_CLUSTER_NODES_MAX 3
#define OVL_CLUSTER_PODS_MAX  9

struct ovl_cluster {
	struct ovl_plan *plan;
	uint32_t n_nodes, n_pods; /* pods: in all */
	uint8_t node[OVL_CLUSTER_NODES_MAX];
	uint8_t pod[OVL_CLUSTER_PODS_MAX]; /* pod i is on node i mod n_nodes */
};

/** Addresses by number from 0, without prefix length. */
void ovl_cluster_node_addr(const struct ovl_plan *plan, uint32_t node, ovl_plan_addr out);
/** Host part `host` of a node's pod network: 0 its VTEP, 1 its bridge, 2 … its pods. */
void ovl_cluster_pod_addr(const struct ovl_plan *plan, uint32_t node, uint32_t host,
			  ovl_plan_addr out);
/** A node's pod network with its prefix length; all of them. */
void ovl_cluster_pod_net(const struct ovl_plan *plan, uint32_t node, ovl_plan_addr out);
const char *ovl_cluster_all_pods(const struct ovl_plan *plan);

/**
 * Nodes (as many as the spec says) joined by their eth0: two by a veth pair, more by a switch in a
 * namespace of its own; routes between them carry the bound on frames in flight.
 */
void ovl_cluster_nodes(struct ovl_cluster *c, struct ovl_plan *plan);
/** Pods (spec's number on each node) behind cni0. */
void ovl_cluster_pods(struct ovl_cluster *c);
/** flannel's vxlan backend on every node: device, VTEPs, routes. */
void ovl_cluster_vxlan(struct ovl_cluster *c);
/** Load and reachability of a cluster with a pod on both of its first two nodes. */
void ovl_cluster_paths(struct ovl_cluster *c);

#endif
