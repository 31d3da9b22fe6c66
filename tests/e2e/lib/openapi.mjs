// openapi.mjs - holds every answer that a test gets against api/openapi.yaml: the status must be listed
// for the operation, the content type for the status, the body must fit its schema.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import YAML from 'yaml';

const file = new URL('../../../api/openapi.yaml', import.meta.url);
export const description = YAML.parse(fs.readFileSync(file, 'utf8'), { merge: true });

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats(ajv);
ajv.addSchema(description, 'openapi');
const validators = new Map();

function validator(pointer) {
    if (!validators.has(pointer)) validators.set(pointer, ajv.compile({ $ref: `openapi#${pointer}` }));
    return validators.get(pointer);
}

const escaped = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

// Follows one $ref; returns the object and where it stands.
function resolved(object, pointer) {
    if (!object?.$ref) return { object, pointer };
    const target = object.$ref.slice(1);
    return { object: target.slice(1).split('/').reduce((o, key) => o[key], description), pointer: target };
}

// Every path with its servers' prefixes, as a pattern: {id} takes one segment. What has no {id} comes first.
const patterns = Object.entries(description.paths).flatMap(([template, item]) =>
    (item.servers ?? [{ url: '' }]).map(({ url }) => ({
        template, item, names: template.split('{').length - 1,
        pattern: new RegExp(`^${url.replace(/\/$/, '')}${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    }))).sort((a, b) => a.names - b.names);

// Paths and methods that are not described answer problems, and nothing is said about their status.
function described(method, path, status) {
    const where = path.split('?')[0];
    const found = patterns.find(({ pattern }) => pattern.test(where));
    const operation = found?.item[method.toLowerCase()];
    if (!operation) return undefined;
    const response = operation.responses[status];
    assert.ok(response, `${method} ${where} answered ${status}, which api/openapi.yaml does not list`);
    return resolved(response,
        `/paths/${escaped(found.template)}/${method.toLowerCase()}/responses/${status}`);
}

export function check(method, path, answer) {
    const problem = answer.headers['content-type']?.startsWith('application/problem+json');
    if (problem) fits('/components/schemas/Problem', answer);
    const found = described(method, path, answer.status);
    if (!found) return;
    const { object, pointer } = found;
    if (!object.content) {
        assert.equal(answer.text, '', `${method} ${path} ${answer.status} has no body`);
        return;
    }
    const type = answer.headers['content-type'].split(';')[0];
    assert.ok(object.content[type], `${method} ${path} ${answer.status}: ${type} is not described`);
    if (type.endsWith('json')) fits(`${pointer}/content/${escaped(type)}/schema`, answer);
}

function fits(pointer, answer) {
    const validate = validator(pointer);
    assert.ok(validate(JSON.parse(answer.text)), `${pointer}: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
}
