/* A matrix in text and JSON. Pure. */
#ifndef OVL_VIEW_MATRIX_H
#define OVL_VIEW_MATRIX_H

#include "base/buf.h"
#include "model/matrix.h"

/** The table, at most 100 columns; unknown is a dash. */
void ovl_matrix_text(struct ovl_buf *out, const struct ovl_matrix *m);
/** The document "ovltrace-matrix/1". */
void ovl_matrix_json(struct ovl_buf *out, const struct ovl_matrix *m);

#endif
