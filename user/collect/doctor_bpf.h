/* The part of doctor that needs bpf() and perf_event_open(). */
#ifndef OVL_COLLECT_DOCTOR_BPF_H
#define OVL_COLLECT_DOCTOR_BPF_H

#include "collect/doctor_say.h"

/** The checks of this part, *n of them. */
const struct ovl_doctor_check *ovl_doctor_bpf_checks(size_t *n);

#endif
