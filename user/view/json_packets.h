/* Packets at the devices of the path, as members of the JSON document. */
#ifndef OVL_VIEW_JSON_PACKETS_H
#define OVL_VIEW_JSON_PACKETS_H

#include "model/facts.h"
#include "model/model.h"
#include "view/json_put.h"

void ovl_json_paths(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_segmentation(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
void ovl_json_latency(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** "packets": how they were counted; "hops": all that was; "tun": the daemons. */
void ovl_json_packets(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);

#endif
