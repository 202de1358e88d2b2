/*
 * Golden stacks, leaf first: from 6.18 as sampled under load, and the same work as 6.1 and 6.12
 * name it.
 */
#include "collect/classify.h"

#include <stdlib.h>

#include "../../bpf/abi.h"
#include "model/sample.h"
#include "tap.h"

#define FRAMES_MAX 64

/* Classify a stack given as words. */
static struct ovl_class of(const char *stack, struct ovl_sample_mode mode)
{
	const struct ovl_symbol_class *frames[FRAMES_MAX];
	struct ovl_symbol_class classes[FRAMES_MAX];
	struct ovl_stack_class class;
	char *words = strdup(stack), *rest = NULL;
	struct ovl_class out;
	size_t n = 0;

	for (char *w = strtok_r(words, " ", &rest); w && n < FRAMES_MAX;
	     w = strtok_r(NULL, " ", &rest)) {
		ovl_classify_symbol(w, &classes[n]);
		frames[n] = &classes[n];
		n++;
	}
	free(words);
	ovl_classify_stack(frames, n, &class);
	ovl_classify_sample(&class, &mode, &out);
	return out;
}

static const struct ovl_sample_mode load = {.task_class = OVL_TASK_LOAD_TX};
static const struct ovl_sample_mode other = {.task_class = OVL_TASK_OTHER};
static const struct ovl_sample_mode idle = {.idle = true};

struct golden {
	const char *kernel, *stage, *work;
	int ctx;
	const char *stack;
};

/* the tail that most receive stacks of a sender's CPU have */
#define RX \
	"process_backlog __napi_poll net_rx_action handle_softirqs do_softirq " \
	"__local_bh_enable_ip "
#define RX61 \
	"process_backlog __napi_poll net_rx_action __do_softirq do_softirq __local_bh_enable_ip "
#define SEND \
	"__dev_queue_xmit ip_finish_output2 ip_output __ip_queue_xmit __tcp_transmit_skb " \
	"tcp_write_xmit __tcp_push_pending_frames tcp_sendmsg_locked tcp_sendmsg sock_write_iter " \
	"vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define ENCAP \
	"__dev_queue_xmit ip_finish_output2 ip_output iptunnel_xmit udp_tunnel_xmit_skb " \
	"vxlan_xmit_one vxlan_xmit dev_hard_start_xmit "
#define SEG \
	"skb_segment tcp_gso_segment inet_gso_segment skb_mac_gso_segment skb_udp_tunnel_segment " \
	"inet_gso_segment skb_mac_gso_segment __skb_gso_segment validate_xmit_skb "

static const struct golden goldens[] = {
	/* transmit */
	{"6.18", "copy_from_user", "copy", OVL_CTX_TASK,
	 "_copy_from_iter tcp_sendmsg_locked tcp_sendmsg sock_write_iter vfs_write ksys_write "
	 "do_syscall_64 entry_SYSCALL_64_after_hwframe"},
	{"6.1", "copy_from_user", "copy", OVL_CTX_TASK,
	 "copy_user_enhanced_fast_string _copy_from_iter tcp_sendmsg_locked tcp_sendmsg "
	 "sock_sendmsg "
	 "sock_write_iter vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe"},
	{"6.12", "copy_from_user", "copy", OVL_CTX_TASK,
	 "rep_movs_alternative _copy_from_iter skb_do_copy_data_nocache tcp_sendmsg_locked "
	 "tcp_sendmsg sock_write_iter vfs_write ksys_write do_syscall_64"},
	{"6.18", "tcp_tx", "alloc", OVL_CTX_TASK,
	 "allocate_slab ___slab_alloc __slab_alloc kmem_cache_alloc_node_noprof kmalloc_reserve "
	 "__alloc_skb tcp_stream_alloc_skb tcp_write_xmit __tcp_push_pending_frames"},
	{"6.18", "gso", "alloc", OVL_CTX_SOFTIRQ,
	 "allocate_slab ___slab_alloc __slab_alloc kmem_cache_alloc_node_noprof kmalloc_reserve "
	 "__alloc_skb " SEG ENCAP RX SEND},
	{"6.18", "gso", "copy", OVL_CTX_SOFTIRQ, "__pi_memcpy " SEG ENCAP RX SEND},
	{"6.18", "gso", "checksum", OVL_CTX_SOFTIRQ,
	 "csum_partial skb_udp_tunnel_segment inet_gso_segment skb_mac_gso_segment "
	 "__skb_gso_segment validate_xmit_skb " ENCAP RX SEND},
	{"6.1", "gso", "alloc", OVL_CTX_SOFTIRQ,
	 "kmem_cache_alloc_node __alloc_skb skb_segment tcp_gso_segment inet_gso_segment "
	 "skb_mac_gso_segment skb_udp_tunnel_segment inet_gso_segment skb_mac_gso_segment "
	 "__skb_gso_segment validate_xmit_skb " ENCAP RX61 SEND},
	{"6.18", "vxlan_encap", "other", OVL_CTX_SOFTIRQ,
	 "vxlan_xmit_one vxlan_xmit dev_hard_start_xmit " SEND " " RX},
	{"6.18", "ip", "lookup", OVL_CTX_SOFTIRQ,
	 "fib_table_lookup ip_route_output_key_hash_rcu ip_route_output_key_hash "
	 "udp_tunnel_dst_lookup vxlan_xmit_one vxlan_xmit dev_hard_start_xmit "
	 "__dev_queue_xmit " RX},
	{"6.18", "veth", "other", OVL_CTX_SOFTIRQ, "veth_xmit dev_hard_start_xmit " ENCAP RX SEND},
	{"6.18", "backlog", "other", OVL_CTX_SOFTIRQ,
	 "enqueue_to_backlog netif_rx_internal __netif_rx veth_xmit dev_hard_start_xmit " ENCAP RX},
	{"6.12", "checksum", "checksum", OVL_CTX_TASK,
	 "csum_partial __skb_checksum skb_checksum skb_checksum_help validate_xmit_skb " SEND},
	{"6.12", "qdisc", "other", OVL_CTX_TASK, "htb_dequeue __qdisc_run " SEND},
	{"6.12", "fragmentation", "alloc", OVL_CTX_TASK,
	 "__alloc_skb ip_do_fragment ip_finish_output ip_output iptunnel_xmit vxlan_xmit_one "
	 "vxlan_xmit dev_hard_start_xmit " SEND},
	/* receive: the receiver's work on the sender's CPU is softirq, whatever task is current */
	{"6.18", "vxlan_decap", "other", OVL_CTX_SOFTIRQ,
	 "vxlan_rcv udp_queue_rcv_one_skb udp_unicast_rcv_skb ip_protocol_deliver_rcu "
	 "ip_local_deliver_finish __netif_receive_skb_one_core " RX SEND},
	{"6.18", "vxlan_decap", "lookup", OVL_CTX_SOFTIRQ,
	 "udp4_lib_lookup2 __udp4_lib_lookup __udp4_lib_rcv ip_protocol_deliver_rcu "
	 "ip_local_deliver_finish __netif_receive_skb_one_core " RX SEND},
	{"6.1", "vxlan_decap", "other", OVL_CTX_SOFTIRQ,
	 "__iptunnel_pull_header vxlan_rcv udp_queue_rcv_one_skb udp_unicast_rcv_skb "
	 "__udp4_lib_rcv "
	 "udp_rcv ip_protocol_deliver_rcu ip_local_deliver_finish "
	 "__netif_receive_skb_one_core " RX61},
	{"6.18", "gro", "other", OVL_CTX_SOFTIRQ,
	 "skb_gro_receive tcp_gro_receive inet_gro_receive dev_gro_receive gro_receive_skb "
	 "gro_cell_poll __napi_poll net_rx_action handle_softirqs " SEND},
	{"6.1", "gro", "other", OVL_CTX_SOFTIRQ,
	 "skb_gro_receive tcp_gro_receive inet_gro_receive dev_gro_receive napi_gro_receive "
	 "gro_cell_poll __napi_poll net_rx_action __do_softirq"},
	{"6.18", "gro", "alloc", OVL_CTX_SOFTIRQ,
	 "__slab_free kfree skb_release_data __napi_kfree_skb gro_receive_skb gro_cell_poll "
	 "__napi_poll net_rx_action handle_softirqs"},
	{"6.18", "gro_cells", "other", OVL_CTX_SOFTIRQ,
	 "gro_cell_poll __napi_poll net_rx_action handle_softirqs do_softirq"},
	{"6.18", "ip", "lookup", OVL_CTX_SOFTIRQ,
	 "fib_table_lookup ip_route_input_slow ip_route_input_noref ip_rcv_finish_core "
	 "ip_sublist_rcv ip_list_rcv __netif_receive_skb_list_core netif_receive_skb_list_internal "
	 "gro_complete dev_gro_receive gro_receive_skb gro_cell_poll __napi_poll net_rx_action "
	 "handle_softirqs"},
	{"6.18", "bridge", "lookup", OVL_CTX_SOFTIRQ,
	 "fdb_find_rcu br_dev_xmit dev_hard_start_xmit __dev_queue_xmit ip_finish_output2 "
	 "ip_output "
	 "ip_sublist_rcv ip_list_rcv __netif_receive_skb_list_core gro_complete dev_gro_receive "
	 "gro_receive_skb gro_cell_poll __napi_poll net_rx_action handle_softirqs"},
	{"6.18", "netfilter", "other", OVL_CTX_SOFTIRQ,
	 "ip_sabotage_in nf_hook_slow ip_rcv __netif_receive_skb_one_core " RX SEND},
	{"6.18", "tcp_rx", "lookup", OVL_CTX_SOFTIRQ,
	 "__inet_lookup_established tcp_v4_early_demux ip_rcv_finish_core ip_rcv "
	 "__netif_receive_skb_one_core " RX SEND},
	{"6.18", "backlog", "other", OVL_CTX_SOFTIRQ,
	 "__netif_receive_skb_core __netif_receive_skb_one_core " RX SEND},
	{"6.18", "copy_to_user", "copy", OVL_CTX_TASK,
	 "_copy_to_iter __skb_datagram_iter __skb_datagram_iter skb_copy_datagram_iter "
	 "tcp_recvmsg_locked tcp_recvmsg sock_recvmsg sock_read_iter vfs_read"},
	{"6.12", "driver_rx", "alloc", OVL_CTX_SOFTIRQ,
	 "page_pool_alloc_pages some_driver_refill some_driver_poll __napi_poll net_rx_action "
	 "handle_softirqs irq_exit_rcu common_interrupt asm_common_interrupt"},
	{"6.18", "skb_free", "alloc", OVL_CTX_SOFTIRQ,
	 "skb_release_data napi_consume_skb skb_defer_free_flush net_rx_action handle_softirqs"},
	/* interrupts were off in the wakeup: the leaf only says where they came back */
	{"6.18", "wakeup", "other", OVL_CTX_SOFTIRQ,
	 "pvm_irq_enable __raw_callee_save_pvm_irq_enable _raw_spin_unlock_irqrestore "
	 "sock_def_readable tcp_data_queue tcp_rcv_established tcp_v4_do_rcv tcp_v4_rcv "
	 "ip_protocol_deliver_rcu ip_local_deliver_finish __netif_receive_skb_one_core " RX},
	{"6.18", "wakeup", "other", OVL_CTX_TASK,
	 "pvm_irq_enable __raw_callee_save_pvm_irq_enable finish_task_switch __schedule schedule "
	 "schedule_hrtimeout_range_clock poll_schedule_timeout do_select core_sys_select"},
	/* what was interrupted is not what runs */
	{"6.18", "softirq_other", "alloc", OVL_CTX_SOFTIRQ,
	 "kmem_cache_free rcu_do_batch rcu_core handle_softirqs __irq_exit_rcu "
	 "sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt tcp_sendmsg_locked "
	 "tcp_sendmsg"},
	{"6.18", "irq_other", "other", OVL_CTX_IRQ,
	 "vring_interrupt __handle_irq_event_percpu handle_irq_event handle_edge_irq "
	 "__common_interrupt common_interrupt asm_common_interrupt tcp_sendmsg_locked tcp_sendmsg"},
	{"6.18", "softirq_other", "other", OVL_CTX_SOFTIRQ,
	 "pvm_irq_enable do_softirq __local_bh_enable_ip " SEND},
	{"6.18", "syscall", "other", OVL_CTX_TASK,
	 "sock_poll do_select core_sys_select do_pselect __x64_sys_pselect6 do_syscall_64 "
	 "entry_SYSCALL_64_after_hwframe"},
	{"6.12 arm64", "tcp_tx", "other", OVL_CTX_TASK,
	 "tcp_sendmsg_locked tcp_sendmsg inet_sendmsg sock_write_iter vfs_write ksys_write "
	 "__arm64_sys_write invoke_syscall el0_svc_common do_el0_svc el0_svc el0t_64_sync_handler"},
	{"any", "unclassified", "other", OVL_CTX_TASK, "some_function another_function"},
};

static void test_goldens(void)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		const struct golden *g = &goldens[i];
		struct ovl_class c = of(g->stack, load);
		bool good = c.busy && !strcmp(ovl_stage_info(c.stage)->key, g->stage) &&
			    !strcmp(ovl_work_key(c.work), g->work) && c.ctx == g->ctx;

		ok(good, "%s: %s/%s: %.50s", g->kernel, g->stage, g->work, g->stack);
		if (!good)
			printf("# got %s/%s ctx %d\n", ovl_stage_info(c.stage)->key,
			       ovl_work_key(c.work), c.ctx);
	}
}

static void test_modes(void)
{
	static const int stage[OVL_TASK_CLASSES] = {
		[OVL_TASK_OTHER] = OVL_STAGE_USER_OTHER,
		[OVL_TASK_LOAD_TX] = OVL_STAGE_APPLICATION,
		[OVL_TASK_LOAD_RX] = OVL_STAGE_APPLICATION,
		[OVL_TASK_DAEMON] = OVL_STAGE_USER_DAEMON,
		[OVL_TASK_PROXY] = OVL_STAGE_USER_PROXY,
		[OVL_TASK_SELF] = OVL_STAGE_USER_OTHER,
	};
	struct ovl_class c;

	for (uint8_t i = 0; i < OVL_TASK_CLASSES; i++) {
		struct ovl_sample_mode mode = {.user = true, .task_class = i};

		ovl_classify_sample(NULL, &mode, &c);
		ok(c.busy && c.ctx == OVL_CTX_USER && c.stage == stage[i],
		   "user mode of task class %u is a stage", i);
	}
	ovl_classify_sample(NULL, &load, &c);
	ok(c.busy && c.stage == OVL_STAGE_UNCLASSIFIED,
	   "a lost stack is unclassified, not dropped");
	ovl_classify_sample(NULL, &idle, &c);
	ok(!c.busy, "a lost stack of the idle task is not busy time");
	c = of("some_function another_function", other);
	ok(c.busy && c.stage == OVL_STAGE_KERNEL_OTHER,
	   "other tasks' unknown work is other kernel");
}

static void test_idle(void)
{
	struct ovl_class c =
		of("pvm_safe_halt default_idle default_idle_call do_idle cpu_startup_entry "
		   "rest_init start_kernel",
		   idle);

	ok(!c.busy, "the idle loop is not busy");
	c = of("pvm_irq_enable cpuidle_idle_call do_idle cpu_startup_entry", idle);
	ok(!c.busy, "nor is the place where it lets interrupts in");
	c = of("skb_gro_receive dev_gro_receive gro_receive_skb gro_cell_poll __napi_poll "
	       "net_rx_action "
	       "handle_softirqs do_softirq flush_smp_call_function_queue do_idle cpu_startup_entry",
	       idle);
	ok(c.busy && c.ctx == OVL_CTX_SOFTIRQ && c.stage == OVL_STAGE_GRO,
	   "softirq work on the idle task is busy and staged by its stack");
	c = of("vring_interrupt handle_irq_event common_interrupt asm_common_interrupt "
	       "default_idle "
	       "do_idle",
	       idle);
	ok(c.busy && c.ctx == OVL_CTX_IRQ && c.stage == OVL_STAGE_IRQ_OTHER,
	   "a hard interrupt on the idle task is busy, in a context of its own");
	c = of("asm_common_interrupt default_idle do_idle", idle);
	ok(c.busy && c.ctx == OVL_CTX_WAKE, "only its entry is what woke the CPU");
	c = of("vring_interrupt common_interrupt asm_common_interrupt handle_softirqs do_softirq",
	       load);
	ok(c.ctx == OVL_CTX_SOFTIRQ, "a hard interrupt within a softirq is that softirq's context");
}

static void test_patterns(void)
{
	struct ovl_symbol_class c;

	ovl_classify_symbol("tcp_recvmsg_locked", &c);
	is_int(c.strong, OVL_STAGE_TCP_RX, "a trailing * matches a prefix");
	ovl_classify_symbol("xtcp_recvmsg", &c);
	is_int(c.strong, OVL_CLASS_NONE, "only at the beginning");
	ovl_classify_symbol("ip_forward", &c);
	is_int(c.strong, OVL_STAGE_IP, "and the empty rest");
	ovl_classify_symbol("ip_defrag", &c);
	is_int(c.strong, OVL_STAGE_REASSEMBLY, "names are exact without it");
	ovl_classify_symbol("vxlan_rcv", &c);
	is_int(c.strong, OVL_STAGE_VXLAN_DECAP, "decap is not encap");
	ovl_classify_symbol("_raw_spin_unlock_irqrestore", &c);
	ok(c.through && !c.irq && !c.softirq, "what lets interrupts in stands for its caller");
	ovl_classify_symbol("skb_segment", &c);
	ok(!c.through, "what works does not");
	ovl_classify_symbol("", &c);
	ok(c.strong == OVL_CLASS_NONE && c.weak == OVL_CLASS_NONE && c.work == OVL_CLASS_NONE,
	   "an empty name is nothing");
}

static void test_holes(void)
{
	const struct ovl_symbol_class *frames[3] = {NULL, NULL, NULL};
	struct ovl_symbol_class gso;
	struct ovl_stack_class s;

	ovl_classify_symbol("skb_segment", &gso);
	frames[2] = &gso;
	ovl_classify_stack(frames, 3, &s);
	is_int(s.stage, OVL_STAGE_GSO, "unknown frames are stepped over");
	ovl_classify_stack(frames, 0, &s);
	is_int(s.stage, OVL_CLASS_NONE, "an empty stack has no stage");
}

int main(void)
{
	test_goldens();
	test_modes();
	test_idle();
	test_patterns();
	test_holes();
	return tap_done();
}
