/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/isolate.h"
