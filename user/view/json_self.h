/* `self`, a member of the document: what ovltrace costs, what measures, what was not measured. */
#ifndef OVL_VIEW_JSON_SELF_H
#define OVL_VIEW_JSON_SELF_H

#include "model/model.h"
#include "view/json_put.h"

void ovl_json_self(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);

#endif
