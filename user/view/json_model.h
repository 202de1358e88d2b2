/* The members of the contract's document that come from the model, one function per member. */
#ifndef OVL_VIEW_JSON_MODEL_H
#define OVL_VIEW_JSON_MODEL_H

#include "model/model.h"
#include "view/json_put.h"

void ovl_json_load(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_traffic(ovl_json o, const struct ovl_model *m);
/** `devices`: all devices of the run, each with its counters as differences over the run. */
void ovl_json_devices(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_verdict(ovl_json o, const struct ovl_model *m);
void ovl_json_waterfall(ovl_json o, const struct ovl_model *m);
void ovl_json_cpu(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** `last`: the last interval, for records of intervals; all other members are of the whole run. */
void ovl_json_last(ovl_json o, const struct ovl_model *m);
void ovl_json_drops(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** `losses`: what the kernel's own counters say was lost, beside `drops`. */
void ovl_json_losses(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_counters(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);

#endif
