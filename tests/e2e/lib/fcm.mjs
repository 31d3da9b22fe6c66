// fcm.mjs - a Firebase Cloud Messaging of the test's own, with the token endpoint that belongs to it. It is as
// strict as the real one: the assertion is verified, the bearer must be one that it gave out and still good, a
// message has one target, known fields, texts in `data` and a size; what is wrong gets Google's answer.
// firebase-admin takes it for Google's (push.test.mjs proves it). Its switches are `say` and `sayToken`.
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import * as jose from 'jose';
import { remember } from './evidence.mjs';
import { newFolder } from './server.mjs';
import { until } from './wait.mjs';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GOOGLE_TOKEN = 'https://oauth2.googleapis.com/token';
const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';

// --- every error of FCM, by the name a test says ---

const fcm = (http_, status, errorCode, message, headers = {}) =>
    ({ http: http_, status, message, details: [{ '@type': FCM_ERROR, errorCode }], headers });
const plain = (http_, status, message) => ({ http: http_, status, message, details: [], headers: {} });

export const ERRORS = {
    UNREGISTERED: fcm(404, 'NOT_FOUND', 'UNREGISTERED', 'Requested entity was not found.'),
    BAD_TOKEN: fcm(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'The registration token is not a valid FCM registration token'),
    SENDER_ID_MISMATCH: fcm(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH', 'SenderId mismatch'),
    THIRD_PARTY_AUTH_ERROR: fcm(401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR', 'Auth error from APNS or Web Push Service'),
    UNAUTHENTICATED: plain(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'),
    PERMISSION_DENIED: plain(403, 'PERMISSION_DENIED', 'Permission \'cloudmessaging.messages.create\' denied.'),
    NO_PROJECT: plain(404, 'NOT_FOUND', 'Project not found.'),
    QUOTA_EXCEEDED: fcm(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', 'Quota exceeded.'),
    UNAVAILABLE: fcm(503, 'UNAVAILABLE', 'UNAVAILABLE', 'The service is currently unavailable.'),
    INTERNAL: fcm(500, 'INTERNAL', 'INTERNAL', 'Internal error encountered.'),
    UNSPECIFIED_ERROR: fcm(500, 'UNKNOWN', 'UNSPECIFIED_ERROR', 'Unknown error.'),
    HTML: { http: 502, html: '<!DOCTYPE html><title>Error 502 (Server Error)!!1</title>', headers: {} },
};
export const after = (name, seconds) => ({ ...ERRORS[name], headers: { 'Retry-After': String(seconds) } });

// --- the form of a message: Google's discovery document, fcm v1 ---

const TEXT = (v) => (typeof v === 'string' ? null : 'must be a string');
const BOOL = (v) => (typeof v === 'boolean' ? null : 'must be true or false');
const ANY = () => null;
const TEXTS = (v) => (Array.isArray(v) && v.every((one) => !TEXT(one)) ? null : 'must be a list of strings');
const OBJECT = (v) => (v && typeof v === 'object' && !Array.isArray(v) ? null : 'must be an object');
const MAP = (v) => OBJECT(v) ?? (Object.values(v).some((one) => TEXT(one)) ? 'values must be strings' : null);
const ONE_OF = (...words) => (v) => (words.includes(String(v).toUpperCase()) ? null : `must be one of ${words}`);
const TTL = (v) => (/^\d+(\.\d+)?s$/.test(v) && parseFloat(v) <= 2419200 ? null : 'must be seconds with an s, up to four weeks');
const RESERVED = /^(from|message_type|google\..*|gcm\.notification\..*)$/;
const DATA = (v) => MAP(v) ?? (Object.keys(v).some((name) => RESERVED.test(name)) ? 'has a reserved name' : null);
const APNS = (v) => MAP(v) ?? (Buffer.byteLength(v['apns-collapse-id'] ?? '') > 64 ? 'apns-collapse-id is too long' : null);
const label = { analytics_label: TEXT };

const FORM = {
    validate_only: BOOL,
    message: {
        name: TEXT, token: TEXT, topic: TEXT, condition: TEXT, data: DATA, fcm_options: label,
        notification: { title: TEXT, body: TEXT, image: TEXT },
        android: {
            collapse_key: TEXT, priority: ONE_OF('NORMAL', 'HIGH'), ttl: TTL, restricted_package_name: TEXT, data: DATA,
            direct_boot_ok: BOOL, bandwidth_constrained_ok: BOOL, restricted_satellite_ok: BOOL, fcm_options: label,
            notification: {
                title: TEXT, body: TEXT, icon: TEXT, color: TEXT, sound: TEXT, tag: TEXT, click_action: TEXT,
                body_loc_key: TEXT, body_loc_args: TEXTS, title_loc_key: TEXT, title_loc_args: TEXTS, channel_id: TEXT,
                ticker: TEXT, sticky: BOOL, event_time: TEXT, local_only: BOOL, notification_priority: TEXT,
                default_sound: BOOL, default_vibrate_timings: BOOL, default_light_settings: BOOL, vibrate_timings: TEXTS,
                visibility: TEXT, notification_count: ANY, light_settings: ANY, image: TEXT, proxy: TEXT,
                bypass_proxy_notification: BOOL,
            },
        },
        apns: { headers: APNS, payload: OBJECT, live_activity_token: TEXT, fcm_options: { ...label, image: TEXT } },
        webpush: { headers: MAP, data: DATA, notification: OBJECT, fcm_options: { ...label, link: TEXT } },
    },
};
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// The first thing wrong with it: [field, words]; or nothing.
function wrongIn(value, form, where = '') {
    if (OBJECT(value)) return [where, OBJECT(value)];
    for (const [name, inside] of Object.entries(value)) {
        const rule = form[snake(name)];
        const place = where ? `${where}.${snake(name)}` : snake(name);
        if (!rule) return [where, `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`];
        const wrong = typeof rule === 'function' ? rule(inside) && [place, rule(inside)] : wrongIn(inside, rule, place);
        if (wrong) return wrong;
    }
    return null;
}

const size = (map) => Object.entries(map ?? {}).reduce((sum, [name, v]) => sum + Buffer.byteLength(name) + Buffer.byteLength(v), 0);

function wrongMessage(body) {
    const wrong = wrongIn(body, FORM);
    if (wrong) return wrong;
    const { message } = body;
    if (!message) return ['message', 'is required'];
    const targets = ['token', 'topic', 'condition'].filter((name) => message[name]);
    if (targets.length !== 1) return ['message', 'Exactly one of token, topic or condition is required'];
    if (message.topic?.startsWith('/topics/')) return ['message.topic', 'has a prefix'];
    const whole = size(message.data) + size(message.notification);
    if (whole > (message.token ? 4096 : 2048)) return ['message', `Message too big: ${whole} bytes`];
    return null;
}

const badRequest = ([field, description]) => ({
    http: 400, status: 'INVALID_ARGUMENT', message: `Invalid value at '${field}': ${description}`, headers: {},
    details: [{ '@type': BAD_REQUEST, fieldViolations: [{ field, description }] }],
});

// --- the account ---

let keys;
function keyPair() {
    keys ??= crypto.generateKeyPairSync('rsa', {
        modulusLength: 2048, privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    for (const line of keys.privateKey.split('\n')) if (line && !line.startsWith('-')) remember(line);
    return keys;
}

// --- the server ---

const read = (request) => new Promise((resolve) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => resolve(Buffer.concat(parts).toString()));
});

const send = (response, status, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, {
        'Content-Type': typeof body === 'string' ? 'text/html' : 'application/json; charset=UTF-8', ...headers,
    }).end(text);
};

export class Fcm {
    constructor(project = 'ichido-e2e') {
        this.project = project;
        this.got = []; // every message that was taken, or would have been but for `say`
        this.asked = []; // every claim set that asked for a token
        this.refused = []; // what the fake itself found wrong: a test of ours has none
        this.gone = new Set(); // devices that are not there any more
        this.tokens = new Map(); // bearer -> its end
        this.offsetMs = 0; // of the clock that it lives by, when a test moves ours
        this.offsetBefore = 0; // what was signed just before it moved is good as well
        this.say = () => undefined; // (message, n): a name or row of ERRORS, 'vanish', 'hang', {afterMs}; nothing: taken
        this.sayToken = () => undefined; // (n): 'invalid_grant', a status, 'vanish', 'hang', {afterMs}
        this.waiting = []; // answers that hang
    }

    now() { return Date.now() + this.offsetMs; }

    move(ms) {
        this.offsetBefore = this.offsetMs;
        this.offsetMs += ms;
    }

    get base() { return `http://127.0.0.1:${this.port}`; }

    // The service account's JSON, as the console gives it out.
    get account() {
        return {
            type: 'service_account', project_id: this.project, private_key_id: 'e2e-key-1',
            private_key: keyPair().privateKey, client_email: `push@${this.project}.iam.gserviceaccount.com`,
            client_id: '1', auth_uri: 'https://accounts.google.com/o/oauth2/auth', token_uri: `${this.base}/token`,
        };
    }

    // What a server needs to speak to it.
    get env() {
        return { ICHIDO_FCM_CREDENTIALS: JSON.stringify(this.account), ICHIDO_FCM_BASE: this.base };
    }

    // The messages to that device.
    to(device) { return this.got.filter(({ token }) => token === device); }

    came(n, limitMs) { return until(`${n} pushes (${this.got.length} came)`, () => this.got.length >= n, limitMs); }

    release() { this.waiting.splice(0).forEach((go) => go()); }

    // True: somebody took care of the answer.
    async #misbehaves(how, request, response) {
        if (how === 'vanish') request.socket.destroy();
        else if (how === 'hang') await new Promise((resolve) => { this.waiting.push(resolve); });
        else if (how?.afterMs) await new Promise((resolve) => { setTimeout(resolve, how.afterMs); });
        return how === 'vanish' || response.destroyed;
    }

    async handle(request, response) {
        const body = await read(request);
        const { pathname } = new URL(request.url, 'http://fake');
        if (request.method !== 'POST') return send(response, 405, '<html>405</html>');
        if (pathname === '/token') return this.#token(request, response, body);
        const [, project] = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(pathname) ?? [];
        if (!project) return send(response, 404, '<html>404</html>');
        return this.#message(request, response, project, body);
    }

    async #claims(request, body) {
        const form = new URLSearchParams(body);
        if (!/^application\/x-www-form-urlencoded/.test(request.headers['content-type'])) return [null, 'invalid_request'];
        if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return [null, 'unsupported_grant_type'];
        const verify = async (offsetMs) => jose.jwtVerify(form.get('assertion'), await jose.importSPKI(keyPair().publicKey, 'RS256'), {
            issuer: this.account.client_email, audience: [GOOGLE_TOKEN, this.account.token_uri], algorithms: ['RS256'],
            maxTokenAge: 3600, clockTolerance: 60, currentDate: new Date(Date.now() + offsetMs), requiredClaims: ['iat', 'exp', 'scope'],
        });
        try {
            const { payload, protectedHeader } = await verify(this.offsetMs).catch(() => verify(this.offsetBefore));
            if (payload.exp - payload.iat > 3600) return [null, 'invalid_grant'];
            if (!payload.scope.split(' ').includes(SCOPE)) return [null, 'invalid_scope'];
            return [{ ...payload, kid: protectedHeader.kid }];
        } catch (error) {
            return [null, 'invalid_grant', error.message];
        }
    }

    async #token(request, response, body) {
        const [claims, error, why] = await this.#claims(request, body);
        if (claims) this.asked.push(claims);
        else this.refused.push(`${error}: ${why}`);
        const how = this.sayToken(this.asked.length);
        if (await this.#misbehaves(how, request, response)) return;
        if (typeof how === 'number') return void send(response, how, '<html>busy</html>');
        const refusal = typeof how === 'string' && how !== 'hang' ? how : error;
        if (refusal) return void send(response, 400, { error: refusal, error_description: 'Invalid JWT Signature.' });
        const bearer = `ya29.${crypto.randomBytes(48).toString('base64url')}`;
        remember(bearer);
        this.tokens.set(bearer, this.now() + 3599_000);
        send(response, 200, { access_token: bearer, expires_in: 3599, token_type: 'Bearer' });
    }

    #verdict(request, project, body) {
        const [, bearer] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
        if (!(this.tokens.get(bearer) > this.now())) return ERRORS.UNAUTHENTICATED;
        if (project !== this.project) return ERRORS.PERMISSION_DENIED;
        if (!/^application\/json/.test(request.headers['content-type'])) return badRequest(['', 'is not JSON']);
        try {
            const wrong = wrongMessage(JSON.parse(body));
            return wrong ? badRequest(wrong) : null;
        } catch (error) {
            return badRequest(['', error.message]);
        }
    }

    async #message(request, response, project, body) {
        const wrong = this.#verdict(request, project, body);
        if (wrong) {
            this.refused.push(wrong.message);
            return this.#refuse(response, wrong);
        }
        const { message } = JSON.parse(body);
        const how = this.gone.has(message.token) ? 'UNREGISTERED' : this.say(message, this.got.length + 1);
        this.got.push({ ...message, answered: how });
        if (await this.#misbehaves(how, request, response)) return;
        const error = ERRORS[how] ?? (how?.http && how);
        if (error) return this.#refuse(response, error);
        send(response, 200, { name: `projects/${project}/messages/0:${crypto.randomUUID()}` });
    }

    #refuse(response, { http: status, html, headers, ...error }) {
        send(response, status, html ?? { error: { code: status, ...error } }, headers);
    }
}

const listen = (t, server) => new Promise((resolve) => {
    t.atEnd(() => new Promise((done) => {
        server.closeAllConnections();
        server.close(done);
    }));
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
});

// A fake that listens.
export async function fakeFcm(t, project) {
    const fake = new Fcm(project);
    t.atEnd(() => fake.release());
    fake.port = await listen(t, http.createServer((request, response) => fake.handle(request, response)));
    return fake;
}

// --- for firebase-admin: the same behind TLS, where all connections to googleapis.com end ---

function certificate() {
    const folder = newFolder();
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key,
        '-out', cert, '-days', '2', '-subj', '/CN=fake', '-addext', 'subjectAltName=DNS:fcm.googleapis.com,DNS:oauth2.googleapis.com'],
    { stdio: 'ignore' });
    const pair = { key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
    fs.rmSync(folder, { recursive: true, force: true });
    return pair;
}

// The SDK's token request takes no agent of ours: it is the global one that leads astray.
export async function asGoogle(t, fake) {
    const pair = certificate();
    const port = await listen(t, https.createServer(pair, (request, response) => fake.handle(request, response)));
    https.globalAgent.createConnection = (options, ...rest) => {
        if (!/\.googleapis\.com$/.test(options.host)) return https.Agent.prototype.createConnection.call(https.globalAgent, options, ...rest);
        return tls.connect({ ...options, host: '127.0.0.1', port, ca: pair.cert, servername: options.host });
    };
    t.atEnd(() => {
        delete https.globalAgent.createConnection;
        https.globalAgent.destroy();
    });
}
