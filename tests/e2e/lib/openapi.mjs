// openapi.mjs - holds every answer that a test gets against its description: the status must be listed for the
// operation, the content type for the status, the body must fit its schema. Under /v2/ that is
// api/qstash.openapi.yaml, elsewhere api/openapi.yaml.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import YAML from 'yaml';

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats(ajv);

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const escaped = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

// {id} takes one segment; what says x-slashes takes all that is left.
function patternOf(template, prefix, parameters, flags) {
    const wide = new Set(parameters.filter((one) => one['x-slashes']).map(({ name }) => name));
    const path = template.replaceAll(/\{([^}]+)\}/g, (_, name) => (wide.has(name) ? '.+' : '[^/]+'));
    return { pattern: new RegExp(`^${prefix}${path}$`, flags), weight: template.split('{').length + 100 * wide.size };
}

// tests/e2e/run has them as JSON: reading YAML takes half a second, and every file of tests would.
function read(name) {
    const ready = process.env.E2E_API && `${process.env.E2E_API}/${name}.json`;
    if (ready) return JSON.parse(fs.readFileSync(ready, 'utf8'));
    return YAML.parse(fs.readFileSync(new URL(`../../../api/${name}`, import.meta.url), 'utf8'), { merge: true });
}

class Description {
    constructor(name, flags = '') {
        this.name = name;
        this.whole = read(name);
        this.validators = new Map();
        ajv.addSchema(this.whole, name);
        // Every operation with its servers' prefixes; what has no {id} comes first, a path that takes everything last.
        this.operations = Object.entries(this.whole.paths).flatMap(([template, item]) =>
            METHODS.filter((method) => item[method]).flatMap((method) =>
                (item.servers ?? [{ url: '' }]).map(({ url }) => ({
                    template, method, operation: item[method],
                    ...patternOf(template, url.replace(/\/$/, ''), [...(item.parameters ?? []), ...(item[method].parameters ?? [])], flags),
                })))).sort((a, b) => a.weight - b.weight);
    }

    // Follows one $ref; returns the object and where it stands.
    resolved(object, pointer) {
        if (!object?.$ref) return { object, pointer };
        const target = object.$ref.slice(1);
        return { object: target.slice(1).split('/').reduce((o, key) => o[key], this.whole), pointer: target };
    }

    // undefined: nothing is said about this path and method.
    response(method, path, status) {
        const found = this.operations.find((one) => one.method === method.toLowerCase() && one.pattern.test(path));
        if (!found) return undefined;
        const response = found.operation.responses[status];
        assert.ok(response, `${method} ${path} answered ${status}, which api/${this.name} does not list`);
        return this.resolved(response, `/paths/${escaped(found.template)}/${found.method}/responses/${status}`);
    }

    fits(pointer, value) {
        if (!this.validators.has(pointer)) this.validators.set(pointer, ajv.compile({ $ref: `${this.name}#${pointer}` }));
        const validate = this.validators.get(pointer);
        assert.ok(validate(value), `${pointer}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value).slice(0, 2000)}`);
    }
}

const main = new Description('openapi.yaml');
export const qstash = new Description('qstash.openapi.yaml', 'i'); // some SDKs write /v2/Schedules
export const description = main.whole;

const PROBLEM = 'application/problem+json';
const typeOf = (answer) => answer.headers['content-type']?.split(';')[0];

// What is not described is not there, or not by that method.
function checkStranger(method, path, answer) {
    assert.ok([401, 404, 405, 413].includes(answer.status) || typeOf(answer) === PROBLEM, `${method} ${path} answered ${answer.status}`);
    if (typeOf(answer) !== PROBLEM) qstash.fits('/components/schemas/Error', JSON.parse(answer.text));
}

export function check(method, target, answer) {
    const isQStash = /^\/v2\//i.test(target);
    const file = isQStash ? qstash : main;
    const path = isQStash ? target.split('?')[0].replace(/\/$/, '') : target.split('?')[0];
    if (typeOf(answer) === PROBLEM) main.fits('/components/schemas/Problem', JSON.parse(answer.text));
    const found = file.response(method, path, answer.status);
    if (!found && isQStash) checkStranger(method, path, answer);
    if (!found) return;
    const { object, pointer } = found;
    if (!object.content) {
        assert.equal(answer.text, '', `${method} ${path} ${answer.status} has no body`);
        return;
    }
    const type = typeOf(answer);
    assert.ok(object.content[type], `${method} ${path} ${answer.status}: ${type} is not described`);
    if (type.endsWith('json')) file.fits(`${pointer}/content/${escaped(type)}/schema`, JSON.parse(answer.text));
}

// The SDK speaks through the global fetch. From now on what it gets is checked as well, before it gets it.
let watched = false;
export function watchFetch() {
    if (watched) return;
    watched = true;
    const plain = globalThis.fetch;
    globalThis.fetch = async (where, options = {}) => {
        const answer = await plain(where, options);
        const { pathname, search } = new URL(where);
        if (!pathname.startsWith('/v2/')) return answer;
        const text = await answer.text();
        check(options.method ?? 'GET', pathname + search, { status: answer.status, headers: Object.fromEntries(answer.headers), text });
        return new Response(text, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
    };
}

// As a program: writes them as JSON to that folder.
if (process.argv[1] === fileURLToPath(import.meta.url))
    for (const one of [main, qstash]) fs.writeFileSync(`${process.argv[2]}/${one.name}.json`, JSON.stringify(one.whole));
