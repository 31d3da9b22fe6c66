// tokens.mjs - bearer tokens as an identity provider would make them: HS256 with the secret that the
// tests' servers know. The secret, the operator's token and every signature must never be printed (A4).
import crypto from 'node:crypto';
import { remember } from './evidence.mjs';

export const JWT_SECRET = 'ichido-e2e-jwt-secret-0123456789abcdefghijklmnop';
export const ADMIN_TOKEN = 'ichido-e2e-admin-token-9876543210';
for (const secret of [JWT_SECRET, ADMIN_TOKEN]) remember(secret);

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

// A year is long enough for tests that move the clock; `claims` overrides (undefined removes one).
export function token(user, scope, claims = {}, { secret = JWT_SECRET, header = {} } = {}) {
    const now = Math.floor(Date.now() / 1000);
    const all = { sub: user, iat: now, exp: now + 366 * 24 * 3600, ...(scope && { scope }), ...claims };
    const text = `${part({ alg: 'HS256', typ: 'JWT', ...header })}.${part(all)}`;
    const signature = crypto.createHmac('sha256', secret).update(text).digest('base64url');
    remember(signature);
    return `${text}.${signature}`;
}

export const uuid = () => crypto.randomUUID();
