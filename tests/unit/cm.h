/* cm.h - cmocka and what it wants included before it. */
#pragma once

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#define TEST(f) cmocka_unit_test(f)
