/* What a mail server says, and what an address looks like. The first byte splits the input: whole
 * or in pieces a server's words mean the same; without the last dot sent nothing may count as
 * taken; and an address that is written has nothing in it that SMTP or a header could take for
 * more. */
#include "base/limits.h"
#include "http/client/smtp.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int holds)
{
    if (!holds)
        abort();
}

/* After every `step` bytes of the server all that wants to go out is sent, or nothing at all. */
static void hold(struct smtp *s, struct str words, size_t step, bool sends)
{
    promise(smtp_init(s, S("pay@example.com"), S("taro@example.jp"), S("Subject: x\n\n.\n.hi")));
    for (;;) {
        size_t n = words.n < step ? words.n : step;

        while (sends && smtp_out(s).n)
            smtp_sent(s, smtp_out(s).n);
        if (!n)
            return;
        smtp_heard(s, (struct str){ words.p, n });
        words.p += n;
        words.n -= n;
    }
}

static void as_server(struct str words, size_t step)
{
    struct smtp s, line;

    hold(&s, words, 1, true);
    promise(s.may_be_taken || !smtp_has_verdict(&s) || s.code >= 400);
    promise(!smtp_has_verdict(&s) || (s.code >= 200 && s.code < 600 && s.code / 100 != 3));
    promise(strlen(s.enhanced) <= 9 && (!s.enhanced[0] || s.enhanced[1] == '.'));
    hold(&line, words, step, false);
    promise(!line.may_be_taken && (!smtp_has_verdict(&line) || line.code >= 400));
    smtp_release(&s);
    smtp_release(&line);
}

static void as_address(struct str text)
{
    struct buf b;

    buf_init(&b, 2 * LIMIT_MAIL_ADDRESS);
    if (smtp_write_address(&b, text)) {
        promise(text.n <= LIMIT_MAIL_ADDRESS && b.n <= text.n + 2);
        for (size_t i = 0; i < b.n; i++)
            promise(b.p[i] > ' ' && b.p[i] <= '~' && !strchr("<>()[]:;,\\", b.p[i]));
    } else {
        promise(!b.n);
    }
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };

    as_address(text);
    if (size)
        as_server((struct str){ text.p + 1, size - 1 }, 1 + data[0] % 64);
    return 0;
}
