/* One connection of the sender, in the words of struct ovl_load_stream. */
#ifndef OVL_LOAD_STREAM_H
#define OVL_LOAD_STREAM_H

#include "load/load.h"
#include "load/sender.h"

/** ovl_load_stream, of the sender. */
int ovl_stream_look(struct ovl_sender *s, const struct ovl_sender_stream *stream, uint64_t ts_ns,
		    struct ovl_load_stream *out);
/** ovl_load_mark, of the sender. */
void ovl_stream_mark(struct ovl_sender *s, struct ovl_sender_stream *stream,
		     const struct ovl_load_stream *at);

#endif
