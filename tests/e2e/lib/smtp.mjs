// smtp.mjs - a real mail server (npm smtp-server), as badly as it is told to; what it took is read by npm postal-mime.
//
//   const smtp = await mailServer(t);                 env: { ICHIDO_SMTP_URL: smtp.url, ICHIDO_MAIL_FROM: ... }
//   const [mail] = await smtp.came(1);                mail.subject, mail.text, mail.to, mail.headers, mail.raw
//   smtp.refuse('rcpt', 550);                         smtp.refuse('mail', 451, { times: 1 });
//   smtp.greylist();                                  the first try of every address: 450
//   smtp.hang('end'); ... smtp.well();                no answer at that stage, until all is well again
//   smtp.drop('end', { times: 1 });                   took it whole, and the line breaks before its answer
//   smtp.slow(200);                                   every answer that much later
//
// Stages in the order of a mail: connect, ehlo, starttls, auth, mail, rcpt, data (the command), end (the last dot).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { remember } from './evidence.mjs';
import { freePort } from './ports.mjs';
import { pause, until } from './wait.mjs';

export const STAGES = ['connect', 'ehlo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'end'];

const stageOf = { EHLO: 'ehlo', HELO: 'ehlo', STARTTLS: 'starttls', AUTH: 'auth', MAIL: 'mail', RCPT: 'rcpt', DATA: 'data' };

const folders = [];
process.on('exit', () => folders.forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })));

// A certificate, of 127.0.0.1 unless named. Who shall believe it is given SSL_CERT_FILE=cert. It lasts as long as this process.
export function certificate(names = 'IP:127.0.0.1,DNS:localhost') {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-smtp-'));
    folders.push(folder);
    const made = { cert: path.join(folder, 'smtp.pem'), key: path.join(folder, 'smtp.key') };
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', made.key,
        '-out', made.cert, '-days', '2', '-subj', '/CN=localhost', '-addext', `subjectAltName=${names}`], { stdio: 'ignore' });
    return made;
}

export class SmtpReceiver {
    // Options: tls 'none', 'starttls' or 'implicit'; user and password: then AUTH is needed;
    // certificate: { cert, key } files; mechanisms of AUTH.
    constructor({ tls = 'none', user, password, mechanisms = ['PLAIN', 'LOGIN'], ...options } = {}) {
        Object.assign(this, { tls, user, password, mechanisms });
        this.certificate = tls === 'none' ? undefined : options.certificate ?? certificate();
        if (password) remember(password);
        this.messages = []; // taken, in order: the person has this mail, whatever the sender knows
        this.tries = []; // { stage, ... } of every command that came
        this.logins = [];
        this.connections = 0;
        this.#rules = [];
        this.#waiting = new Set();
    }

    #rules;
    #waiting;
    #server;
    #slowMs = 0;
    #grey;

    async start() {
        this.#server = new SMTPServer({
            ...(this.certificate && { cert: fs.readFileSync(this.certificate.cert), key: fs.readFileSync(this.certificate.key) }),
            secure: this.tls === 'implicit',
            disabledCommands: [...(this.user ? [] : ['AUTH']), ...(this.tls === 'starttls' ? [] : ['STARTTLS'])],
            authMethods: this.mechanisms,
            allowInsecureAuth: true,
            disableReverseLookup: true,
            socketTimeout: 600_000,
            closeTimeout: 50,
            onConnect: (session, callback) => this.#connected(session, callback),
            onAuth: (auth, session, callback) => this.#login(auth, session, callback),
            onData: (stream, session, callback) => this.#data(stream, session, callback),
        });
        this.#server.on('error', () => {}); // a client that breaks off is what the tests are about
        this.port ??= await freePort();
        await new Promise((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve));
        return this;
    }

    // It may be started again, at the same port.
    async stop() {
        this.#let();
        for (const connection of this.#server.connections) connection._socket.destroy();
        await new Promise((resolve) => this.#server.close(resolve));
    }

    get url() {
        const who = this.user ? `${encodeURIComponent(this.user)}:${encodeURIComponent(this.password)}@` : '';
        return `${this.tls === 'implicit' ? 'smtps' : 'smtp'}://${who}127.0.0.1:${this.port}`;
    }

    // --- switches ---

    refuse(stage, code, { times = Infinity, text } = {}) {
        return this.#rule({ stage, times, do: 'refuse', code, text });
    }

    hang(stage, { times = Infinity } = {}) {
        return this.#rule({ stage, times, do: 'hang' });
    }

    drop(stage, { times = Infinity } = {}) {
        return this.#rule({ stage, times, do: 'drop' });
    }

    greylist() {
        this.#grey = new Set();
    }

    slow(ms) {
        this.#slowMs = ms;
    }

    // All switches off; who hangs is answered.
    well() {
        this.#rules = [];
        this.#grey = undefined;
        this.#slowMs = 0;
        this.#let();
    }

    #rule(rule) {
        if (!STAGES.includes(rule.stage)) throw new Error(`no stage of a mail: ${rule.stage}`);
        this.#rules.push(rule);
        return this;
    }

    #let() {
        for (const go of this.#waiting) go();
        this.#waiting.clear();
    }

    // --- waiting ---

    // The first n mails, as postal-mime reads them.
    async came(n, limitMs) {
        await until(`${n} mails (${this.messages.length} came)`, () => this.messages.length >= n, limitMs);
        return this.messages;
    }

    // n commands of that stage have come.
    reached(stage, n = 1, limitMs) {
        return until(`${n} times ${stage}`, () => this.tried(stage) >= n, limitMs);
    }

    tried(stage) {
        return this.tries.filter((each) => each.stage === stage).length;
    }

    to(address) {
        return this.messages.filter((mail) => mail.envelope.to.includes(address));
    }

    // --- the dialogue ---

    #connected(session, callback) {
        const connection = [...this.#server.connections].find((each) => each.id === session.id);
        const plain = connection._getHandler.bind(connection);
        this.connections++;
        connection._getHandler = (name) => {
            const handler = plain(name);
            return handler && stageOf[name] ? this.#gated(connection, stageOf[name], handler) : handler;
        };
        this.#gate('connect', connection, '').then((code) => code !== 'gone' && callback(code && this.#refusal(code)));
    }

    #gated(connection, stage, handler) {
        return async (command, done) => {
            const code = await this.#gate(stage, connection, command.toString());
            if (code === 'gone') return;
            if (code) {
                connection.send(code.code, code.text);
                done();
                return;
            }
            handler.call(connection, command, done);
        };
    }

    // What the switches make of this stage: undefined (go on), 'gone', or { code, text }.
    async #gate(stage, connection, command) {
        const rule = this.#rules.find((each) => each.stage === stage && each.times > 0);
        this.tries.push({ stage, command: stage === 'auth' ? 'AUTH' : command, secure: connection.secure });
        if (rule) rule.times--;
        if (this.#slowMs) await pause(this.#slowMs);
        if (rule?.do === 'hang') await new Promise((go) => this.#waiting.add(go));
        if (rule?.do === 'drop') connection._socket.destroy();
        if (connection._socket.destroyed) return 'gone';
        if (rule?.do === 'refuse') return { code: rule.code, text: rule.text ?? `no, says the test <${command.slice(8)}>` };
        if (stage === 'rcpt' && this.#grey && !this.#grey.has(command)) {
            this.#grey.add(command);
            return { code: 450, text: 'greylisted, come again later' };
        }
        return undefined;
    }

    #refusal({ code, text }) {
        return Object.assign(new Error(text), { responseCode: code });
    }

    #login({ method, username, password }, session, callback) {
        this.logins.push({ method, user: username, password, secure: session.secure });
        if (username === this.user && password === this.password) callback(null, { user: username });
        else callback(this.#refusal({ code: 535, text: 'wrong user or password' }));
    }

    async #data(stream, session, callback) {
        const connection = [...this.#server.connections].find((each) => each.id === session.id);
        const parts = [];
        const envelope = { from: session.envelope.mailFrom.address, to: session.envelope.rcptTo.map((each) => each.address) };
        try {
            for await (const part of stream) parts.push(part);
        } catch {
            return; // the sender broke off
        }
        if (!connection || connection._socket.destroyed) return;
        const raw = Buffer.concat(parts);
        const refused = this.#rules.some((rule) => rule.stage === 'end' && rule.do === 'refuse' && rule.times > 0);
        if (!refused) await this.#take(raw, envelope, session);
        const code = await this.#gate('end', connection, '');
        if (code !== 'gone') callback(code && this.#refusal(code));
    }

    async #take(raw, envelope, session) {
        const mail = await PostalMime.parse(raw);
        const header = (name) => mail.headers.find((each) => each.key === name)?.value;
        this.messages.push({ ...mail, raw: raw.toString('latin1'), envelope, header, secure: session.secure, user: session.user });
    }
}

// A mail server that ends with its test.
export async function mailServer(t, options) {
    const smtp = await new SmtpReceiver(options).start();
    t.atEnd(() => smtp.stop());
    return smtp;
}
