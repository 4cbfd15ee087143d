/* SPDX-License-Identifier: Apache-2.0 */
#include "state/paths.h"
