#include "view/json.h"

#include <string.h>

#include "base/exit.h"
#include "view/json_findings.h"
#include "view/json_model.h"
#include "view/json_packets.h"
#include "view/json_self.h"
#include "view/touches.h"
#include "view/words.h"

#define SCHEMA "ovltrace/1"

static void put_host(ovl_json o, const struct ovl_facts *f)
{
	ovl_json tool = ovl_json_object(o, "tool"), host;

	ovl_json_text(tool, "version", f->tool_version);
	ovl_json_text_or_null(tool, "libbpf", f->libbpf_version);
	host = ovl_json_object(o, "host");
	ovl_json_text(host, "kernel", f->kernel);
	ovl_json_text(host, "arch", f->arch);
	ovl_json_u64(host, "cpus", f->cpus);
	ovl_json_text(host, "nodename", f->nodename);
}

static void put_config(ovl_json o, const struct ovl_facts *f)
{
	ovl_json config = ovl_json_object(o, "config");

	ovl_vec_each(setting, &f->config)
		ovl_json_text(config, setting->name, setting->value);
}

static void put_vxlan(ovl_json o, const struct ovl_vxlan *v)
{
	ovl_json vxlan;

	if (!v->valid) {
		ovl_json_null(o, "vxlan");
		return;
	}
	vxlan = ovl_json_object(o, "vxlan");
	ovl_json_u64(vxlan, "vni", v->vni);
	ovl_json_u64(vxlan, "port", v->port);
	ovl_json_text_or_null(vxlan, "local", v->local);
	ovl_json_text_or_null(vxlan, "dev", v->dev);
}

static void put_iface(ovl_json o, const struct ovl_facts *f)
{
	const struct ovl_link *link = ovl_facts_iface(f), *under = ovl_words_underlay(f);
	ovl_json iface, part;

	if (!link) {
		ovl_json_null(o, "iface");
		return;
	}
	iface = ovl_json_object(o, "iface");
	ovl_json_text(iface, "name", link->name);
	ovl_json_netns(iface, f, link->ns);
	/* a physical device has no kind of its own: null here, by name in `devices` */
	ovl_json_text_or_null(iface, "kind",
			      strcmp(ovl_facts_kind(link), "physical") ? ovl_facts_kind(link) : "");
	ovl_json_i64(iface, "ifindex", link->ifindex);
	ovl_json_u64(iface, "mtu", link->mtu);
	if (under) {
		part = ovl_json_object(iface, "underlay");
		ovl_json_text(part, "name", under->name);
		ovl_json_u64(part, "mtu", under->mtu);
	} else {
		ovl_json_null(iface, "underlay");
	}
	put_vxlan(iface, &f->vxlan);
	part = ovl_json_object(iface, "features");
	ovl_vec_each(feature, &link->features)
		ovl_json_bool(part, feature->name, feature->on);
}

/** What does not change during a run. */
static void put_facts(ovl_json o, const struct ovl_facts *f)
{
	put_host(o, f);
	put_config(o, f);
	put_iface(o, f);
}

/** What changes, in the contract's order; members of later batches are null. */
static void put_model(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json_u64(o, "duration_ns", m->duration_ns);
	ovl_json_u64(o, "interval_ns", f->interval_ns);
	ovl_json_load(o, f, m);
	ovl_json_traffic(o, m);
	ovl_json_devices(o, f, m);
	ovl_json_verdict(o, m);
	ovl_json_waterfall(o, m);
	ovl_json_cpu(o, f, m);
	ovl_json_paths(o, f, m);
	ovl_touches_json(o, f, m);
	ovl_json_segmentation(o, f, m);
	ovl_json_latency(o, f, m);
	ovl_json_drops(o, f, m);
	ovl_json_losses(o, f, m);
	ovl_json_counters(o, f, m);
	ovl_json_flows(o, f, m);
	ovl_json_findings(o, f, m);
	ovl_json_attempts(o, f, m);
	ovl_json_packets(o, f, m);
	ovl_json_self(o, f, m);
}

static void put_exit(ovl_json o, const struct ovl_view_exit *end)
{
	ovl_json exit = ovl_json_object(o, "exit");

	ovl_json_i64(exit, "code", end->code);
	ovl_json_text(exit, "reason", end->reason ? end->reason : ovl_exit_name(end->code));
}

/** Write o as one line and release it. */
static void finish(struct ovl_buf *out, ovl_json o)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (text && o) {
		ovl_buf_puts(out, text);
		ovl_buf_puts(out, "\n");
	} else {
		out->failed = true;
	}
	json_object_put(o);
}

static ovl_json record(const char *type)
{
	ovl_json o = json_object_new_object();

	if (type)
		ovl_json_text(o, "type", type);
	return o;
}

void ovl_json_document(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		       const struct ovl_view_exit *exit)
{
	ovl_json o = record(NULL);

	ovl_json_text(o, "schema", SCHEMA);
	put_facts(o, f);
	put_model(o, f, m);
	ovl_json_readings(o, f, m);
	put_exit(o, exit);
	finish(out, o);
}

void ovl_json_start(struct ovl_buf *out, const struct ovl_facts *f)
{
	ovl_json o = record("start");

	ovl_json_text(o, "schema", SCHEMA);
	put_facts(o, f);
	ovl_json_u64(o, "interval_ns", f->interval_ns);
	ovl_json_u64(o, "start_unix_ns", f->start_unix_ns);
	finish(out, o);
}

void ovl_json_sample(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json o = record("sample");

	put_model(o, f, m);
	ovl_json_last(o, m);
	finish(out, o);
}

void ovl_json_found(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_vec_each(finding, &m->findings) {
		ovl_json o = record("finding");

		ovl_json_finding(o, f, finding);
		finish(out, o);
	}
}

void ovl_json_end(struct ovl_buf *out, const struct ovl_facts *f, const struct ovl_model *m,
		  const struct ovl_view_exit *exit)
{
	ovl_json o = record("end");

	ovl_json_text(o, "schema", SCHEMA);
	put_facts(o, f);
	put_model(o, f, m);
	ovl_json_readings(o, f, m);
	put_exit(o, exit);
	finish(out, o);
}
