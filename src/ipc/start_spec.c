/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/start_spec.h"
