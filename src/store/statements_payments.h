/* statements_payments.h - part of statements.h: read its rules there. No include guard: read many times. */
