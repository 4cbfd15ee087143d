/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"
