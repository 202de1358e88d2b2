/* The copies ledger and the functions' calls, as JSON and as text. */
#ifndef OVL_VIEW_TOUCHES_H
#define OVL_VIEW_TOUCHES_H

#include "base/buf.h"
#include "model/facts.h"
#include "model/model.h"
#include "view/json_put.h"

/** Members `copies` and `functions` of the document; null where nothing was counted. */
void ovl_touches_json(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m);
/** Sections COPIES and KERNEL FUNCTIONS of the report; nothing where neither is known. */
void ovl_touches_plain(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m);

#endif
