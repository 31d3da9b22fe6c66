// wrong_bodies.mjs - every operation of api/openapi.yaml and api/qstash.openapi.yaml, and every body that is wrong
// for it, made from its schema: no list of routes or fields is kept here, a new one is in the product by itself.
import { description, qstash } from './openapi.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const JSON_TYPE = 'application/json';
const BIG = 'x'.repeat(1 << 20);

const follow = (whole, object) => {
    if (!object?.$ref) return object;
    const { $ref, ...own } = object;
    return follow(whole, { ...$ref.slice(2).split('/').reduce((o, key) => o[key], whole), ...own });
};

// {method, template, path, secured: bearer, session or none, headers, contents: [[type, schema]], whole}
export function operations() {
    return [description, qstash.whole].flatMap((whole) => Object.entries(whole.paths).flatMap(([template, item]) =>
        METHODS.filter((method) => item[method]).map((method) => {
            const one = item[method];
            const parameters = [...(item.parameters ?? []), ...(one.parameters ?? [])].map((p) => follow(whole, p));
            const [scheme = {}] = one.security ?? whole.security;
            const body = follow(whole, one.requestBody);
            return {
                method: method.toUpperCase(), template, whole, secured: Object.keys(scheme)[0],
                keyed: parameters.some(({ name }) => name === 'Idempotency-Key'), mayBeEmpty: !body?.required,
                contents: Object.entries(body?.content ?? {}).map(([type, { schema }]) => [type, follow(whole, schema)]),
            };
        })));
}

const typesOf = (schema) => {
    if (schema.type) return [schema.type].flat();
    return (schema.enum ?? ('const' in schema ? [schema.const] : [])).map((value) => (value === null ? 'null' : typeof value));
};

const BY_FORMAT = { uuid: '7b0c2f5e-3a7d-4c58-9d7e-0f6f0e9a1b2c', 'date-time': '2026-11-16T09:00:00Z', date: '2026-11-16', uri: 'https://shop.example/' };

// A value that fits the schema, with all that is required.
export function sample(whole, given) {
    const schema = follow(whole, given);
    if (schema.enum) return schema.enum[0];
    if ('const' in schema) return schema.const;
    switch (typesOf(schema)[0]) {
    case 'object':
        return Object.fromEntries((schema.required ?? []).map((name) => [name, sample(whole, schema.properties[name])]));
    case 'array': return schema.minItems || follow(whole, schema.items).properties ? [sample(whole, schema.items)] : [];
    case 'integer': case 'number': return schema.minimum ?? 1;
    case 'boolean': return false;
    default: return BY_FORMAT[schema.format] ?? schema.examples?.[0] ?? 'xyz';
    }
}

const WRONG = { string: 'x', number: 7, integer: 7, boolean: true, object: { x: 1 }, array: [[]], null: null };

// [path of the field, a value of a type that it does not have], in nested objects and lists too.
function wrongValues(whole, given, at = []) {
    const schema = follow(whole, given);
    const all = [];
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
        const property = follow(whole, child);
        const may = typesOf(property);
        const here = [...at, name];
        if (may.length)
            for (const kind of ['string', 'number', 'boolean', 'object', 'array', 'null'])
                if (!may.includes(kind) && !(kind === 'number' && may.includes('integer'))) all.push([here, WRONG[kind]]);
        if (may.includes('integer')) all.push([here, 1.5]);
        all.push(...wrongValues(whole, property, here));
        if (property.items) {
            const item = follow(whole, property.items);
            if (item.properties) all.push(...wrongValues(whole, item, [...here, 0]));
            else if (typesOf(item).length === 1) all.push([[...here, 0], typesOf(item)[0] === 'string' ? 7 : 'x']);
        }
    }
    return all;
}

// A copy of `value` in which the field at `path` is `to`; undefined takes it away. Objects on the way are made.
function put(value, [name, ...rest], to) {
    const copy = Array.isArray(value) ? [...value] : typeof name === 'number' ? [] : { ...value };
    if (rest.length) copy[name] = put(copy[name] ?? {}, rest, to);
    else if (to === undefined) delete copy[name];
    else copy[name] = to;
    return copy;
}

function missing(whole, given, value, at = []) {
    const schema = follow(whole, given);
    return [
        ...(schema.required ?? []).map((name) => [...at, name]),
        ...Object.entries(schema.properties ?? {}).filter(([name]) => value?.[name] && typeof value[name] === 'object').flatMap(([name, child]) =>
            (Array.isArray(value[name]) ? value[name].slice(0, 1).flatMap((one) => missing(whole, follow(whole, child).items, one, [...at, name, 0]))
                : missing(whole, child, value[name], [...at, name]))),
    ];
}

// Bytes that nothing takes as JSON, or that are no object; of every content type.
const anyway = (type) => [
    ['text/plain', '{}', 'text/plain'], ['no content type', '{}', undefined], ['two content types', '{}', [type, type]],
    ['an empty body', '', type],
    ['{', '{', type], ['[]', '[]', type], ['null', 'null', type], ['a string', '"x"', type], ['a number', '17', type],
    ['33 levels of lists', '['.repeat(33) + ']'.repeat(33), type], ['33 levels of objects', '{"x":'.repeat(33) + '1' + '}'.repeat(33), type],
    ['one key twice', '{"x":1,"x":2}', type], ['0xff', Buffer.from([0xff]), type],
    ['0xff in a string', Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}')]), type],
    ['1 MB in a string', `{"x":"${BIG}"}`, type], ['1 MB of it', BIG, type],
];

const goodFor = (whole, item, right, field) => right?.(field) ?? sample(whole, item);

// [content type, body]: what the operation takes, of each content type that is made of fields.
export function rightBodies({ whole, contents }, right) {
    return contents.flatMap(([type, schema]) => {
        const list = schema.type === 'array';
        const item = list ? follow(whole, schema.items) : schema;
        const good = goodFor(whole, item, right);
        return item.properties ? [[type, JSON.stringify(list ? [good] : good)]] : [];
    });
}

// [what, body, content type, names of the field that is wrong, if it is one]: all that is wrong for the operation.
// right(field) is a body that it would take, and in which that field may stand.
export function wrongBodies(operation, right) {
    if (!operation.contents.length) return [...anyway(JSON_TYPE), ['an unknown field', '{"zzz":1}', JSON_TYPE]];
    return operation.contents.flatMap(([type, schema]) => {
        const { whole } = operation;
        const list = schema.type === 'array';
        const item = list ? follow(whole, schema.items) : schema;
        const row = (what, value, path) => [what, JSON.stringify(list ? [value] : value), type, path?.filter((name) => typeof name === 'string')];
        const first = Object.keys(item.properties ?? {})[0];
        const good = goodFor(whole, item, right, first);
        const rows = anyway(type === '*/*' ? JSON_TYPE : type);
        if (type === 'text/csv' || type === '*/*') return rows;
        if (list) rows.push(['{}', '{}', type]);
        for (const [path, value] of wrongValues(whole, item))
            rows.push(row(`${path.join('.')} = ${JSON.stringify(value)}`, put(goodFor(whole, item, right, path[0]), path, value), path));
        for (const path of missing(whole, item, good)) rows.push(row(`without ${path.join('.')}`, put(good, path, undefined), path));
        if (item.additionalProperties === false) rows.push(row('an unknown field', { ...good, zzz: 1 }, ['zzz']));
        if (first) {
            const value = JSON.stringify(good[first] ?? sample(whole, item.properties[first]));
            const twice = `{${JSON.stringify(first)}:${value},${JSON.stringify({ [first]: JSON.parse(value), ...good }).slice(1)}`;
            rows.push([`${first} twice`, list ? `[${twice}]` : twice, type], row(`${first} of 1 MB`, put(good, [first], BIG)));
            const deep = JSON.stringify(put(good, [first], '@')).replace('"@"', '['.repeat(33) + ']'.repeat(33));
            rows.push([`${first} 33 levels deep`, list ? `[${deep}]` : deep, type]);
            const bad = JSON.stringify(put(good, [first], '@')).split('@');
            rows.push([`${first} of 0xff`, Buffer.concat([Buffer.from(`${list ? '[' : ''}${bad[0]}`), Buffer.from([0xff]), Buffer.from(`${bad[1]}${list ? ']' : ''}`)]), type]);
        }
        return rows;
    });
}
