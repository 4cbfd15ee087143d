/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/mux.h"
