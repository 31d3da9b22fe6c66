// What the page makes of money and of texts, without a browser: an amount has the digits that the server counts, a text
// that is no amount is refused, no two currencies look alike, and an edited body keeps its line ends.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from './lib/harness.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// A copy that node takes for modules: web/ itself has no package.json, for it is embedded whole.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-web-'));
after(() => fs.rmSync(folder, { recursive: true, force: true }));
fs.cpSync(path.join(root, 'web'), folder, { recursive: true });
fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
globalThis.document = { documentElement: {} };
globalThis.window = new EventTarget();
if (!globalThis.navigator) globalThis.navigator = { language: 'en' };
const load = (name) => import(pathToFileURL(path.join(folder, 'lib', name)));
const { amountWrong, digitsOf, majorText, minorOf } = await load('money.js');
const { amountTrouble, money, moneyCode, setLang } = await load('i18n.js');
const { tokensOf, withEnds } = await load('json_text.js');
const { translateServerText } = await load('server_text.js');
const { diffLines } = await load('diff.js');

const source = fs.readFileSync(path.join(root, 'src/domain/currency.c'), 'utf8');
const CURRENCIES = [...source.matchAll(/\{ "([A-Z]{3})", (\d) \}/g)].map(([, code, digits]) => [code, Number(digits)]);
const plain = (text) => text.replace(/\s/g, ' ');

test('O8 every currency of the server has the server\'s digits on the page', () => {
    assert.ok(CURRENCIES.length > 150, 'the table was found');
    assert.deepEqual(CURRENCIES.map(([code]) => [code, digitsOf(code)]), CURRENCIES);
    for (const lang of ['en', 'ja']) {
        setLang(lang);
        for (const [code, digits] of CURRENCIES) {
            const major = digits ? `1,234.${'567890'.slice(0, digits)}` : '1,234';
            const minor = Number(major.replace(/\D/g, ''));
            for (const shown of [money(minor, code), moneyCode(minor, code)])
                assert.equal(shown.match(/\d[\d.,]*/)[0], major, `${code} ${shown}`);
            assert.equal(minorOf(majorText(minor, code), code), minor, code);
            assert.equal(minorOf(major, code), minor, code);
        }
    }
});

test('O8 money reads the same whoever counts: exact, signed, and unknown where it is', () => {
    setLang('en');
    for (const [minor, currency, text] of [
        [1250, 'HUF', 'HUF 12.50'], [100000, 'IDR', 'IDR 1,000.00'], [1000, 'IQD', 'IQD 1.000'], [5, 'USD', 'USD 0.05'], [-5, 'USD', '-USD 0.05'],
        [-123456, 'KWD', '-KWD 123.456'], [0, 'JPY', 'JPY 0'], [9007199254740991, 'USD', 'USD 90,071,992,547,409.91'], [12345, 'CLF', 'CLF 1.2345'],
    ])
        assert.equal(plain(moneyCode(minor, currency)).replace('\u2212', '-'), text);
    assert.equal(money(null, 'JPY'), '–');
    assert.equal(money(undefined, 'JPY'), '–');
    assert.equal(money(7, '?'), '7 ?');
    assert.equal(plain(money(1250, 'usd')), 'US$12.50');
});

test('O8 no two currencies look alike, in either language', () => {
    for (const lang of ['en', 'ja']) {
        const seen = new Map();
        setLang(lang);
        for (const [code, digits] of CURRENCIES) {
            const sign = money(10 ** digits, code).replace(/[\d.,\s]/g, '');
            assert.ok(!seen.has(sign), `${code} and ${seen.get(sign)} are both ${sign} in ${lang}`);
            seen.set(sign, code);
        }
    }
});

test('O8 an amount is digits with a point and the currency\'s decimals; a comma sets thousands apart and nothing else', () => {
    for (const [text, currency, want] of [
        ['12.50', 'USD', 1250], ['12.5', 'USD', 1250], ['12', 'USD', 1200], ['0.05', 'USD', 5], ['1000', 'JPY', 1000], ['1,000', 'JPY', 1000], ['1,234,567.89', 'USD', 123456789],
        [' 12.50 ', 'USD', 1250], ['１，０００', 'JPY', 1000], ['１２．５０', 'USD', 1250], ['1.234', 'KWD', 1234], ['1000', 'HUF', 100000], ['007', 'JPY', 7], ['9999999999999', 'JPY', 9999999999999],
        ['1,50', 'USD', 'commas'], ['12,5', 'USD', 'commas'], ['1,0000', 'USD', 'commas'], ['1,00,000', 'JPY', 'commas'], [',100', 'JPY', 'commas'], ['100,', 'JPY', 'commas'],
        ['1,,000', 'JPY', 'commas'], ['1234,567', 'JPY', 'commas'], ['0,500', 'KWD', 'commas'], ['1.000,50', 'EUR', 'commas'], ['1.000,000', 'KWD', 'commas'], ['1.5', 'JPY', 'decimals'],
        ['1.234', 'USD', 'decimals'], ['1.0', 'JPY', 'decimals'], ['', 'USD', 'number'], [' ', 'USD', 'number'], ['-5', 'USD', 'number'], ['+5', 'USD', 'number'], ['1e3', 'USD', 'number'],
        ['0x10', 'USD', 'number'], ['5.', 'USD', 'number'], ['.5', 'USD', 'number'], ['1 000', 'JPY', 'number'], ['$5', 'USD', 'number'], ['10²', 'USD', 'number'], ['①', 'JPY', 'number'],
        ['١٠', 'JPY', 'number'], ['1.2.3', 'USD', 'number'], ['Infinity', 'USD', 'number'], ['10000000000000', 'JPY', 'number'], ['9,999,999,999,999.9999', 'CLF', 'number'],
    ]) {
        assert.equal(minorOf(text, currency), typeof want === 'number' ? want : null, `'${text}' ${currency}`);
        assert.equal(amountWrong(text, currency), typeof want === 'number' ? null : want, `'${text}' ${currency}`);
        for (const lang of ['en', 'ja']) {
            setLang(lang);
            const said = amountTrouble(text, currency);
            assert.equal(said === null, typeof want === 'number');
            assert.ok(!said?.includes('amount.'), 'there are words for it');
        }
    }
});

test('Q6 a body that a person edits keeps the line ends it had', () => {
    const shown = (text) => text.replace(/\r\n?/g, '\n'); // what a textarea makes of it
    for (const [body, edit, want] of [
        ['a,1\r\nb,2\r\n', (s) => s, 'a,1\r\nb,2\r\n'],
        ['a,1\r\nb,2\r\n', (s) => s.replace('b,2', 'b,3'), 'a,1\r\nb,3\r\n'],
        ['a,1\r\nb,2\r\n', (s) => `${s}c,3\n`, 'a,1\r\nb,2\r\nc,3\r\n'],
        ['a,1\r\nb,2', (s) => `${s}\nc,3`, 'a,1\r\nb,2\r\nc,3'],
        ['a\r\nb\nc\rd', (s) => s.replace('c', 'x'), 'a\r\nb\nx\rd'],
        ['a\r\nb\r\nc\nd', (s) => s.replace('c', 'x\ny'), 'a\r\nb\r\nx\ny\r\nd'],
        ['a\r\nb\nc\rd\r\n', (s) => s.replace('a\n', ''), 'b\nc\rd\r\n'],
        ['a\nb\r\nc', (s) => s.replace('\nc', ''), 'a\nb'],
        ['a\nb', (s) => s.replace('a', 'x'), 'x\nb'],
        ['a', (s) => `${s}\nb`, 'a\nb'],
        ['a\r\n', () => '', ''],
    ])
        assert.equal(withEnds(body, diffLines(shown(body), edit(shown(body)))), want, JSON.stringify(body));
});

// A text that counts how often one of its characters is looked at.
function watched(text) {
    const seen = { steps: 0 };
    const chars = new Proxy([...text], { get: (all, name) => {
        if (name !== 'length') seen.steps++;
        return all[name];
    } });
    return { chars, seen };
}

test('O8 JSON is coloured in steps that grow with its length, whatever it says and wherever it was cut', () => {
    const many = 100_000;
    for (const [what, text] of Object.entries({
        'an unclosed string of quotes': `{\n  "d": "${'\\"'.repeat(many)}…`, 'backslashes': `"${'\\'.repeat(many)}`, 'quotes': '"'.repeat(many), 'empty strings': `[${'"",'.repeat(many)}`,
        'digits': '1'.repeat(many), 'a number that is none': '1e'.repeat(many), 'brackets': '['.repeat(many), 'blanks': `"a"${' '.repeat(many)}`,
    })) {
        const { chars, seen } = watched(text);
        const tokens = tokensOf(chars);
        assert.ok(seen.steps <= 4 * text.length + 100, `${what}: ${seen.steps} steps for ${text.length} characters`);
        assert.ok(tokens.length <= 2000, what);
        for (const [i, { from, to }] of tokens.entries()) assert.ok(from < to && to <= text.length && from >= (tokens[i - 1]?.to ?? 0), `${what}: ${from} to ${to}`);
    }
});

test('O8 names, strings and the rest have colours of their own', () => {
    const text = JSON.stringify({ 'a "name": 1': ['x: \\', -1.5e-7, true, null, {}, ''], n: 12 }, null, 2);
    assert.deepEqual(tokensOf(text).map(({ kind, from, to }) => [kind, text.slice(from, to)]), [
        ['key', JSON.stringify('a "name": 1')], ['string', JSON.stringify('x: \\')], ['other', '-1.5e-7'], ['other', 'true'], ['other', 'null'], ['string', '""'], ['key', '"n"'], ['other', '12'],
    ]);
    assert.deepEqual(tokensOf(''), []);
    assert.deepEqual(tokensOf('{"cut": "in the mid…').map(({ kind, to }) => [kind, to]), [['key', 6], ['string', 20]]);
});

test('O8 what is longer than anything the server says is not looked up', () => {
    const steps = (text) => {
        const exec = RegExp.prototype.exec;
        let longest = 0;
        RegExp.prototype.exec = function (one) { longest = Math.max(longest, String(one).length); return exec.call(this, one); };
        try { translateServerText(text); } finally { RegExp.prototype.exec = exec; }
        return longest;
    };
    for (const lang of ['en', 'ja']) {
        setLang(lang);
        assert.ok(steps(' / '.repeat(100_000)) <= 2000, 'a search that costs the square of the length');
        assert.equal(translateServerText(' / '.repeat(100_000)).length, 300_000);
        assert.equal(translateServerText('too late / \u9045\u3059\u304e\u307e\u3059'), lang === 'ja' ? '\u9045\u3059\u304e\u307e\u3059' : 'too late');
    }
    assert.match(translateServerText('the destination answered 500'), /\u9001\u4fe1\u5148/);
});
