// Mail by SMTP (N1): the whole program speaks to a real mail server, and another program reads what it took.
import { assert, forOneStore, fresh, launch, start, stores, test, until, uuid } from './lib/harness.mjs';
import { quiet } from './lib/purchases.mjs';
import { receive } from './lib/receiver.mjs';
import { certificate, mailServer } from './lib/smtp.mjs';

const FROM = 'pay@shop.example';
const SUBJECT = 'お支払いを受け付けました';
const DAY = 24 * 3600_000;

const settings = (smtp, env) => ({ ICHIDO_SMTP_URL: smtp.url, ICHIDO_MAIL_FROM: FROM, ...env });

async function open(t, store, { smtp, db, env } = {}) {
    const post = smtp ?? await mailServer(t);
    return { smtp: post, server: await start(t, store, { db, env: settings(post, env) }) };
}

let people = 0;

// {user, email}
async function person(server, changes = {}) {
    const user = uuid();
    const email = `taro-${++people}@example.jp`;
    const answer = await server.call('PUT', `/api/v1/users/${user}`, { as: user, body: { email, ...changes } });
    assert.equal(answer.status, 201, answer.text);
    return { user, email };
}

// Pays: one mail, that the payment is authorised.
const pays = (server, { user }) => server.paid({}, { userId: user });

const sendOf = async (server, { email }) => (await server.db.table('sends')).find((row) => row.target === email);
const ends = (server, who, status) => until(`the mail is ${status}`, async () => {
    const row = await sendOf(server, who);
    return row?.status === status && row;
});
// Tried, and put off.
const waits = (server, who, tries = 1) => until('the mail waits', async () => {
    const row = await sendOf(server, who);
    return row?.status === 'waiting' && row.why && Number(row.tries) >= tries && row;
});

// No address, and nothing that must not be known, in any line of the log or in a row's reason.
async function mute(server, ...secrets) {
    for (const word of ['example.jp', FROM, ...secrets]) assert.ok(!server.stderr.includes(word), `${word} is in the log`);
    for (const { why } of await server.db.table('sends')) assert.doesNotMatch(why ?? '', /@/);
}

forOneStore((store, test) => {
    test('N1 who pays is mailed once, in Japanese, and another program reads it', async (t) => {
        const { server, smtp } = await open(t, store);
        const who = await person(server);
        const payment = await server.captured({}, { userId: who.user });
        await smtp.came(2);
        await quiet(server);
        assert.equal(smtp.messages.length, 2);
        const [told, receipt] = smtp.messages.sort((a, b) => (a.subject === SUBJECT ? -1 : b.subject === SUBJECT ? 1 : 0));
        const rows = await server.db.table('notifications');
        for (const [mail, type] of [[told, 'payment_authorized'], [receipt, 'receipt']]) {
            const row = rows.find((each) => each.type === type);
            const send = (await server.db.table('sends')).find((each) => each.notification_id === row.id);
            assert.equal(mail.subject, row.title);
            assert.deepEqual(mail.text.split('\r\n')[0], row.body);
            assert.deepEqual(mail.envelope, { from: FROM, to: [who.email] });
            assert.deepEqual([mail.from.address, mail.to.map(({ address }) => address)], [FROM, [who.email]]);
            assert.equal(mail.messageId.replaceAll('-', ''), `<${send.id}@${'shop.example'}>`);
            assert.equal(mail.header('x-ichido-notification').replaceAll('-', ''), row.id);
            assert.equal(mail.header('auto-submitted'), 'auto-generated');
            assert.equal(mail.header('content-language'), 'ja');
            assert.ok(Math.abs(new Date(mail.date) - Date.now()) < 60_000, mail.date);
            for (const line of mail.raw.split('\r\n')) assert.match(line, /^[ -~]{0,78}$/);
        }
        const link = JSON.parse(rows.find(({ type }) => type === 'receipt').data).receiptUrl;
        assert.equal(receipt.text, ['お支払いの領収書を発行しました。', '', '領収書:', link, '', '-- ',
            'このメールは自動で送信されています。', 'This mail was sent automatically.', ''].join('\r\n'));
        assert.equal(payment.userId, who.user);
        await mute(server);
    });

    test('N1 who reads English is mailed in English; who wants no mail gets none', async (t) => {
        const { server, smtp } = await open(t, store);
        await pays(server, await person(server, { channels: [] }));
        await pays(server, { user: uuid() });
        const who = await person(server, { language: 'en' });
        await pays(server, who);
        const [mail] = await smtp.came(1);
        await quiet(server);
        assert.deepEqual(smtp.messages.map(({ envelope }) => envelope.to), [[who.email]]);
        assert.match(mail.subject, /^[ -~]+$/);
        assert.equal(mail.header('content-language'), 'en');
    });

    test('N1 an old address of a Japanese carrier, with its dots, gets its mail', async (t) => {
        const { server, smtp } = await open(t, store);
        await pays(server, await person(server, { email: 'taro.x.@keitai.example.jp' }));
        const [mail] = await smtp.came(1);
        assert.deepEqual([mail.envelope.to, mail.to[0].address], [['"taro.x."@keitai.example.jp'], 'taro.x.@keitai.example.jp']);
        await mute(server);
    });

    // what happens at which stage; how it ends at first; is it told in the end
    const LATER = 'later';
    const rows = [
        ['refuse', 'connect', 421, LATER], ['refuse', 'connect', 554, LATER], ['refuse', 'mail', 451, LATER], ['refuse', 'mail', 550, LATER],
        ['refuse', 'mail', 530, LATER], ['refuse', 'rcpt', 450, LATER], ['refuse', 'rcpt', 452, LATER], ['refuse', 'rcpt', 550, 'failed'],
        ['refuse', 'rcpt', 553, 'failed'], ['refuse', 'data', 421, LATER], ['refuse', 'data', 451, LATER], ['refuse', 'data', 554, LATER],
        ['refuse', 'end', 451, LATER], ['refuse', 'end', 552, 'failed'], ['refuse', 'end', 554, LATER],
        ['refuse', 'end', 550, LATER], ['refuse', 'data', 503, 'failed'],
        ['drop', 'connect', undefined, LATER], ['drop', 'ehlo', undefined, LATER], ['drop', 'mail', undefined, LATER],
        ['drop', 'rcpt', undefined, LATER], ['drop', 'data', undefined, LATER], ['drop', 'end', undefined, 'unknown'],
    ];
    test('D28 N1 what was surely not taken comes again, what was refused or may have been taken does not', async (t) => {
        const { server, smtp } = await open(t, store);
        for (const [what, stage, code, end] of rows) {
            const who = await person(server);
            const name = `${what} ${stage} ${code ?? ''}`;
            if (what === 'refuse') smtp.refuse(stage, code, { times: 1 });
            else smtp.drop(stage, { times: 1 });
            await pays(server, who);
            if (end !== LATER) {
                const row = await ends(server, who, end);
                if (code) assert.match(row.why, new RegExp(`^the mail server answered ${code}`), name);
                await server.advance(DAY);
                await quiet(server);
                assert.equal(smtp.to(who.email).length, end === 'unknown' ? 1 : 0, name);
                continue;
            }
            const row = await waits(server, who);
            if (code) assert.match(row.why, new RegExp(`\\b${code}\\b`), name);
            assert.equal(smtp.to(who.email).length, 0, name);
            await server.advance(60_000);
            await ends(server, who, 'sent');
            assert.equal(smtp.to(who.email).length, 1, name);
        }
        await quiet(server);
        assert.ok(smtp.messages.every((mail) => smtp.to(mail.envelope.to[0]).length === 1), 'nobody twice');
        await mute(server);
    });

    test('N1 a mail that was greylisted comes again, with the same Message-ID', async (t) => {
        const { server, smtp } = await open(t, store);
        const who = await person(server);
        smtp.greylist();
        await pays(server, who);
        const row = await waits(server, who);
        assert.match(row.why, /450 .*to the recipient/);
        await server.advance(60_000);
        const [mail] = await smtp.came(1);
        assert.equal(mail.messageId.replaceAll('-', ''), `<${row.id}@shop.example>`);
        await ends(server, who, 'sent');
        await quiet(server);
        assert.equal(smtp.messages.length, 1);
    });

    test('N1 a mail server that is not there for hours is tried again until it is', async (t) => {
        const { server, smtp } = await open(t, store);
        const who = await person(server);
        await smtp.stop();
        await pays(server, who);
        for (let tries = 1; tries <= 4; tries++) {
            await waits(server, who, tries);
            await server.advance(3600_000);
        }
        await waits(server, who, 5);
        await smtp.start();
        await server.advance(3600_000);
        await smtp.came(1);
        await ends(server, who, 'sent');
        await quiet(server);
        assert.equal(smtp.messages.length, 1);
    });

    test('N1 a mail server that never wants it: a dead letter after a day, and a person sends it again', async (t) => {
        const { server, smtp } = await open(t, store);
        const who = await person(server);
        smtp.refuse('rcpt', 450);
        await pays(server, who);
        await until('it is given up', async () => {
            await server.advance(DAY / 2);
            return (await sendOf(server, who)).status === 'failed';
        }, 60_000);
        smtp.well();
        const dead = await until('it is a dead letter', async () => {
            const { body } = await server.call('GET', '/api/v1/admin/dlq?kind=notify.mail', { as: 'admin' });
            return body.data[0];
        });
        assert.match(dead.why ?? JSON.stringify(dead), /450/);
        assert.equal(smtp.messages.length, 0);
        const answer = await server.call('POST', `/api/v1/admin/dlq/${dead.id}/retry`, { as: 'admin' });
        assert.equal(answer.status, 200, answer.text);
        await ends(server, who, 'sent');
        await quiet(server);
        assert.equal(smtp.messages.length, 1);
        await mute(server);
    });

    for (const stage of ['connect', 'ehlo', 'rcpt', 'data', 'end'])
        test(`N1 P6 a mail server that hangs (${stage}) holds up no payment and no other channel`, async (t) => {
            const posts = await receive(t, () => 204);
            const { server, smtp } = await open(t, store, { env: { ICHIDO_NOTIFY_WEBHOOK: `${posts.url}/told`,
                ICHIDO_NOTIFY_SECRET: `whsec_${Buffer.from('mail-e2e-0123456789abcdefghijklm').toString('base64')}` } });
            smtp.hang(stage);
            const slow = await Promise.all(Array.from({ length: 10 }, () => person(server)));
            await Promise.all(slow.map((who) => pays(server, who)));
            await smtp.reached(stage);
            const hook = await person(server, { channels: ['webhook'] });
            await pays(server, hook);
            await posts.came(1);
            assert.ok(smtp.messages.length <= 8 && (stage === 'end' || !smtp.messages.length));
            smtp.well();
            for (const who of slow)
                await until('it is sent', async () => {
                    if ((await sendOf(server, who)).status === 'sent') return true;
                    await server.advance(1000);
                    return false;
                });
            await quiet(server);
            for (const who of slow) assert.equal(smtp.to(who.email).length, 1);
        });

    test('N1 a slow mail server gets them all, once each, while others come and go', async (t) => {
        const { server, smtp } = await open(t, store);
        smtp.slow(150);
        const many = await Promise.all(Array.from({ length: 40 }, () => person(server)));
        await Promise.all(many.map((who) => pays(server, who)));
        await until('all are sent', async () => {
            if ((await server.db.table('sends')).filter(({ status }) => status === 'sent').length === many.length) return true;
            await server.advance(1000);
            return false;
        }, 60_000);
        await quiet(server);
        for (const who of many) assert.equal(smtp.to(who.email).length, 1);
    });

    test('N1 Q6 554 to the dot (a sender that is refused): later, then a dead letter that a retry sends', async (t) => {
        const { server, smtp } = await open(t, store);
        const who = await person(server);
        smtp.refuse('end', 554, { text: 'Message rejected: Email address is not verified.' });
        await pays(server, who);
        assert.match((await waits(server, who)).why, /554 to the mail/);
        await until('it is given up', async () => {
            await server.advance(DAY / 2);
            return (await sendOf(server, who)).status === 'failed';
        }, 60_000);
        assert.ok(smtp.tried('end') > 5, `${smtp.tried('end')} tries`);
        smtp.well(); // the operator has it verified
        const dead = await until('it is a dead letter', async () =>
            (await server.call('GET', '/api/v1/admin/dlq?kind=notify.mail', { as: 'admin' })).body.data[0]);
        assert.equal((await server.call('POST', `/api/v1/admin/dlq/${dead.id}/retry`, { as: 'admin' })).status, 200);
        await ends(server, who, 'sent');
        await quiet(server);
        assert.equal(smtp.to(who.email).length, 1);
        await mute(server);
    });

    for (const stage of ['connect', 'rcpt', 'end'])
        test(`D28 N1 T6 kill -9 while the mail server holds it (${stage}): nobody is told twice`, async (t) => {
            const smtp = await mailServer(t);
            const db = await fresh(t, store);
            const server = await launch(t, db, { env: settings(smtp) }).listening();
            const who = await person(server);
            smtp.hang(stage);
            await pays(server, who);
            await smtp.reached(stage);
            await server.kill();
            smtp.well();
            const again = await start(t, store, { db, env: settings(smtp) });
            for (let i = 0; i < 3; i++) await again.advance(DAY / 2);
            await ends(again, who, 'unknown');
            await quiet(again);
            assert.equal(smtp.to(who.email).length, stage === 'end' ? 1 : 0);
        });

    test('N1 T6 kill -9 while it waits for its next try costs nothing', async (t) => {
        const smtp = await mailServer(t);
        const db = await fresh(t, store);
        const server = await launch(t, db, { env: settings(smtp) }).listening();
        const who = await person(server);
        smtp.refuse('rcpt', 451);
        await pays(server, who);
        await waits(server, who);
        await server.kill();
        smtp.well();
        const again = await start(t, store, { db, env: settings(smtp) });
        await again.advance(60_000);
        await smtp.came(1);
        await ends(again, who, 'sent');
        await quiet(again);
        assert.equal(smtp.messages.length, 1);
    });
});

// --- the way there: TLS and the login; the database has no part in it ---

const [store] = stores;
const LOGIN = { user: 'shop@mail.example', password: 'geheim/wort:mit@allem?#%é 3f9c27' };

for (const tls of ['implicit', 'starttls'])
    for (const mechanism of ['PLAIN', 'LOGIN'])
        test(`N1 A4 a login by ${mechanism}, with TLS (${tls}): any password, in no log`, async (t) => {
            const smtp = await mailServer(t, { tls, ...LOGIN, mechanisms: [mechanism] });
            const { server } = await open(t, store, { smtp, env: { SSL_CERT_FILE: smtp.certificate.cert } });
            const who = await person(server);
            await pays(server, who);
            const [mail] = await smtp.came(1);
            await ends(server, who, 'sent');
            assert.equal(mail.secure, true);
            assert.deepEqual(smtp.logins, [{ method: mechanism, user: LOGIN.user, password: LOGIN.password, secure: true }]);
            await mute(server, LOGIN.password, encodeURIComponent(LOGIN.password), LOGIN.user);
        });

test('N1 A4 a password is never sent in clear text: without STARTTLS nothing is sent at all', async (t) => {
    const smtp = await mailServer(t, { ...LOGIN });
    const { server } = await open(t, store, { smtp });
    const who = await person(server);
    await pays(server, who);
    const row = await waits(server, who);
    assert.match(row.why, /STARTTLS/);
    assert.deepEqual([smtp.logins, smtp.messages, smtp.tried('auth'), smtp.tried('mail')], [[], [], 0, 0]);
});

test('N1 A4 a STARTTLS that is refused, or that breaks, gets no password', async (t) => {
    for (const how of ['refuse', 'drop']) {
        const smtp = await mailServer(t, { tls: 'starttls', ...LOGIN });
        const { server } = await open(t, store, { smtp, env: { SSL_CERT_FILE: smtp.certificate.cert } });
        const who = await person(server);
        smtp[how]('starttls', 454);
        await pays(server, who);
        await waits(server, who);
        assert.deepEqual([smtp.tried('starttls'), smtp.tried('auth'), smtp.tried('mail')], [1, 0, 0]);
    }
});

test('N1 A4 a certificate that nobody vouches for, or of another host: no password, no mail', async (t) => {
    for (const [what, options] of [['unknown', { tls: 'implicit' }], ['unknown', { tls: 'starttls' }],
        ['another host', { tls: 'implicit', certificate: certificate('DNS:mail.example') }]]) {
        const smtp = await mailServer(t, { ...options, ...LOGIN });
        const env = what === 'unknown' ? {} : { SSL_CERT_FILE: smtp.certificate.cert };
        const { server } = await open(t, store, { smtp, env });
        const who = await person(server);
        await pays(server, who);
        const row = await waits(server, who);
        assert.match(row.why, /certificate/i, `${what}: ${row.why}`);
        assert.deepEqual([smtp.logins, smtp.messages], [[], []]);
    }
});

test('N1 a login that is refused is a matter of settings: the mail waits, and goes out once it is mended', async (t) => {
    const smtp = await mailServer(t, { tls: 'implicit', ...LOGIN });
    const wrong = smtp.url.replace('3f9c27', 'wrong');
    const env = { SSL_CERT_FILE: smtp.certificate.cert };
    const db = await fresh(t, store);
    const server = await launch(t, db, { env: settings(smtp, { ...env, ICHIDO_SMTP_URL: wrong }) }).listening();
    const who = await person(server);
    await pays(server, who);
    const row = await waits(server, who);
    assert.match(row.why, /refused the login: 535/);
    await mute(server, LOGIN.password.slice(0, 12), encodeURIComponent(LOGIN.password.slice(0, 12)), LOGIN.user);
    await server.stop();
    const again = await start(t, store, { db, env: settings(smtp, env) });
    await again.advance(60_000);
    await ends(again, who, 'sent');
    assert.equal(smtp.messages.length, 1);
});

test('N1 without a login, STARTTLS is taken where it is offered, and its certificate must be good', async (t) => {
    const names = certificate('IP:0.0.0.0');
    const smtp = await mailServer(t, { tls: 'starttls', certificate: names });
    const elsewhere = smtp.url.replace('127.0.0.1', '0.0.0.0'); // not a loopback address by its looks
    const trusting = await start(t, store, { env: settings(smtp, { SSL_CERT_FILE: names.cert, ICHIDO_SMTP_URL: elsewhere }) });
    await pays(trusting, await person(trusting));
    const [mail] = await smtp.came(1);
    assert.equal(mail.secure, true);
    const doubting = await start(t, store, { env: settings(smtp, { ICHIDO_SMTP_URL: elsewhere }) });
    const who = await person(doubting);
    await pays(doubting, who);
    assert.match((await waits(doubting, who)).why, /certificate/i);
    const near = await start(t, store, { env: settings(smtp) }); // on loopback nobody listens in
    await pays(near, await person(near));
    await smtp.came(2);
    assert.equal(smtp.messages[1].secure, false);
});

test('N1 D25 settings that cannot work stop the start, with one line that says why', async (t) => {
    const rows = [
        [{ ICHIDO_SMTP_URL: 'https://mail.example' }, /ICHIDO_SMTP_URL/], [{ ICHIDO_SMTP_URL: 'smtp://' }, /ICHIDO_SMTP_URL/],
        [{ ICHIDO_SMTP_URL: 'smtp://u:gehe/im@mail.example' }, /ICHIDO_SMTP_URL/], [{ ICHIDO_MAIL_FROM: 'pay' }, /ICHIDO_MAIL_FROM/],
        [{ ICHIDO_MAIL_FROM: undefined }, /ICHIDO_MAIL_FROM/], [{ ICHIDO_MAIL_FROM: '支払@shop.example' }, /ICHIDO_MAIL_FROM/],
        [{ SSL_CERT_FILE: '/nowhere/at-all.pem' }, /SSL_CERT_FILE/],
    ];
    for (const [env, named] of rows) {
        const db = await fresh(t, store);
        const server = launch(t, db, { env: { ICHIDO_SMTP_URL: 'smtp://127.0.0.1:1', ICHIDO_MAIL_FROM: FROM, ...env } });
        const { code } = await server.exit;
        assert.notEqual(code, 0, JSON.stringify(env));
        assert.match(server.stderr + server.stdout, named, JSON.stringify(env));
        assert.doesNotMatch(server.stderr + server.stdout, /gehe|\/im@/);
    }
});
