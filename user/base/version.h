/* The version that --version, the JSON document and recordings carry. */
#ifndef OVL_BASE_VERSION_H
#define OVL_BASE_VERSION_H

#define OVL_VERSION "0.1.0"

#endif
