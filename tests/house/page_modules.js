// The page's modules that touch no page: addresses, times, changes, lines. test_page.py copies them beside this.
import assert from 'node:assert/strict';
import {addressOf, parseAddress} from './address.js';
import {visible} from './dom.js';
import {columnsOf, itemsOf, linesOf, middleOf, pairsOf, piecesOf, rowsOf, unfolded} from './lines.js';
import {Changes, filterOf, partsOf, pathsOf, whoOf} from './store.js';
import {ago, sinceOf, span} from './time.js';

const tests = {
	'an address is read as it is written'() {
		const params = {group: '', kind: 'ConfigMap', namespace: 'a b', name: 'x/y?z#', from: 3, mode: 'split'};
		const address = addressOf('history', params);
		assert.equal(address, '#/history/-/ConfigMap/a%20b/x%2Fy%3Fz%23?from=3&mode=split');
		assert.deepEqual(parseAddress(address), {view: 'history', params: {...params, from: '3'}});
		assert.deepEqual(parseAddress('#/timeline?text=%3Cb%3E'), {view: 'timeline', params: {text: '<b>'}});
		assert.equal(parseAddress('#/history/%E0%A4/x').params.group, '', 'what is no UTF-8 is nothing');
		assert.equal(parseAddress('').view, '');
	},

	'what cannot be seen is written'() {
		assert.equal(visible('a\u2028b\u202ec\u0000\u{e0041}\ud800'), 'a\\u2028b\\u202ec\\u0000\\U000e0041\\ud800');
		assert.equal(visible('<script>é漢😀\t'), '<script>é漢😀\t');
		for (const emoji of ['❤\ufe0f', '👩\u200d💻', '👍🏽', '🏳\ufe0f\u200d🌈', '1\ufe0f\u20e3', '©\ufe0f', '🇩🇪']) {
			assert.equal(visible(`über ${emoji}\u202e`), `über ${emoji}\\u202e`, 'an emoji is seen, whatever it is made of');
		}
		assert.equal(visible('a\ufe0fb\u200dc\u200d😀\u200d'), 'a\\ufe0fb\\u200dc\\u200d😀\\u200d', 'elsewhere the same characters are not');
		assert.equal(visible('🏴\u{e0067}\u{e007f}'), '🏴\\U000e0067\\U000e007f', 'tags can hide a text');
		assert.equal(visible(null), '');
	},

	'times'() {
		assert.equal(span(59), '59 s');
		assert.equal(span(3 * 86400), '3 d');
		assert.equal(ago(1000, 1500), 'just now');
		assert.equal(ago(0, 7200e3), '2 h ago');
		assert.equal(ago(NaN), 'at an unknown time');
		assert.equal(sinceOf('90m', 1e9), 1e9 - 5400e3);
		assert.equal(sinceOf('2026-01-02T03:04:05Z'), Date.UTC(2026, 0, 2, 3, 4, 5));
		assert.equal(sinceOf(''), 0);
		assert.ok(Number.isNaN(sinceOf('yesterday')));
	},

	'changes are in the order of time, and each is taken once'() {
		const store = new Changes();
		const history = (uid, total, ...changes) => ({metadata: {uid, name: uid}, spec: {subject: {kind: 'K', name: uid}},
			status: {totalChanges: total, changes: changes.map(([time, resourceVersion]) => ({type: 'Changed', time, resourceVersion}))}});
		const a = '2026-01-01T00:00:01Z', b = '2026-01-01T00:00:02Z', c = '2026-01-01T00:00:03Z';
		store.begin();
		store.take([history('x', 2, [a, '5'], [c, '9']), history('y', 1, [b, '7'])]);
		store.end();
		assert.deepEqual(store.sorted.map((e) => e.key), ['x:1', 'y:0', 'x:0']);
		assert.equal(store.take([history('x', 2, [a, '5'], [c, '9'])]).length, 0);
		assert.equal(store.take([history('y', 2, [b, '7'], [c, '10'])]).length, 1);
		assert.equal(store.sorted[0].key, 'y:1', 'of the same second, by version as a number');
		assert.equal(store.take([history('x', 5, [c, '12'])]).length, 1);
		assert.equal(store.missed, 2);
		// Listed again, without x: it is gone.
		store.begin();
		store.take([history('y', 2, [b, '7'], [c, '10'])]);
		store.end();
		assert.deepEqual(store.sorted.map((e) => e.key), ['y:1', 'y:0']);
		store.forget({metadata: {uid: 'y'}});
		assert.equal(store.sorted.length, 0);
		assert.equal(store.bytes, 0);
	},

	'of too many changes the oldest go'() {
		const store = new Changes({max: 100});
		for (let i = 0; i < 5; i++) {
			store.take([{metadata: {uid: `u${i}`}, status: {changes: Array.from({length: 50}, (_, k) =>
				({time: new Date((i * 50 + k) * 1000).toISOString()}))}}]);
		}
		assert.equal(store.sorted.length, 100);
		assert.equal(store.dropped, 150);
		assert.equal(store.sorted.at(-1).time, 150000);
	},

	'filters'() {
		const resources = [{group: 'apps', kind: 'Deployment', resource: 'deployments', shortNames: ['deploy']}];
		const entry = {time: 5000, subject: {group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web'},
			change: {type: 'Changed', managers: ['helm', 'Kubectl'], cause: 'because', paths: ['/spec/replicas']}};
		const yes = [{}, {namespace: 'shop'}, {kind: 'deploy'}, {kind: 'Deployments.apps'}, {kind: 'cm,deployment'}, {by: 'kubectl'},
			{text: 'replicas because'}, {since: 5000}];
		const no = [{namespace: 'sho'}, {kind: 'deployments.extensions'}, {by: 'eve'}, {text: 'web nothing'}, {since: 5001}];
		yes.forEach((filter) => assert.ok(filterOf(filter, resources)(entry), JSON.stringify(filter)));
		no.forEach((filter) => assert.ok(!filterOf(filter, resources)(entry), JSON.stringify(filter)));
		assert.equal(whoOf(entry.change), 'helm, Kubectl (managers)');
		assert.equal(whoOf({user: 'eve', managers: ['x']}), 'eve');
		assert.equal(pathsOf({paths: ['/a'], morePaths: 2}), '/a and 2 more');
		assert.equal(partsOf({type: 'Changed', paths: ['/a'], skipped: true, gap: {states: 3}}), '/a; at least 3 states skipped before');
		assert.equal(partsOf({type: 'Deleted', skipped: true}), 'states skipped before');
		const gap = {authors: [{user: 'alice'}, {user: 'bob'}]}, inGap = {type: 'Changed', user: 'eve', skipped: true, gap};
		assert.equal(partsOf(inGap), 'states skipped before, also by alice, bob');
		assert.equal(partsOf({...inGap, gap: {...gap, moreAuthors: true}}), 'states skipped before, also by alice, bob, perhaps others');
		assert.ok(filterOf({by: 'bob'}, resources)({...entry, change: inGap}) && !filterOf({by: 'carol'}, resources)({...entry, change: inGap}));
	},

	'folds stand for what hunks leave out, and unfold to it'() {
		const line = (op, text) => ({op, text, path: `/${text}`});
		const names = Array.from({length: 20}, (_, i) => `l${i + 1}`);
		const body = names.flatMap((name) => (name === 'l5' ? [line('-', 'l5'), line('+', 'new'), line('+', 'newer')] : [line(' ', name)]));
		const whole = {fromLines: 20, toLines: 21, hunks: [{from: 1, to: 1, lines: body}]};
		const some = {fromLines: 20, toLines: 21, hunks: [{from: 4, to: 4, lines: body.slice(3, 8)}]};
		const items = itemsOf(some);
		assert.deepEqual(items[0], {fold: true, a: 1, b: 1, count: 3});
		assert.deepEqual(items.at(-1), {fold: true, a: 7, b: 8, count: 14});
		assert.deepEqual(unfolded(items.at(-1), itemsOf(whole)).map((each) => each.text), names.slice(6));
		assert.equal(unfolded(items.at(-1), itemsOf(whole))[0].b, 8);
		assert.deepEqual(itemsOf({fromLines: 3, toLines: 3, hunks: []}), []);
		// From nothing: 1 + the lines before.
		assert.equal(itemsOf({fromLines: 0, toLines: 1, hunks: [{from: 1, to: 1, lines: [line('+', 'x')]}]}).length, 1);
		assert.deepEqual(rowsOf(items, 'split').map((row) => (row.fold ? 'fold' : `${row.left?.text}|${row.right?.text}`)),
			['fold', 'l4|l4', 'l5|new', 'undefined|newer', 'l6|l6', 'fold']);
		assert.equal(rowsOf(items, 'inline').length, 7);
		assert.equal(rowsOf(items, 'inline').filter((row) => row.isChange).length, 1);
	},

	'lines of the same path are side by side, and what differs is marked'() {
		const removed = [{path: '/a', text: 'a: 1'}, {path: '/b', text: 'b: xxOLDyy'}], added = [{path: '/b', text: 'b: xxNEWyy'}, {path: '/c', text: 'c: 3'}];
		assert.deepEqual(pairsOf(removed, added).map((pair) => pair.map((each) => each?.path)), [['/a', undefined], ['/b', '/b'], [undefined, '/c']]);
		assert.deepEqual(piecesOf(removed[1]).map(({text, kind}) => [text, kind]), [['b: xx', ''], ['OLD', 'mark'], ['yy', '']]);
		assert.deepEqual(middleOf('aa', 'aaa'), {from: [2, 2], to: [2, 3]});
		assert.equal(middleOf('x', 'y'), null);
		// Two characters that share half of their code.
		assert.deepEqual(middleOf('a\u{1f600}', 'a\u{1f601}'), {from: [1, 3], to: [1, 3]});
	},

	'of a line of a megabyte the part that changed is shown'() {
		const from = {path: '/x', text: 'x'.repeat(1 << 20)}, to = {path: '/x', text: `${'x'.repeat(500000)}NEW${'x'.repeat(600000)}`};
		pairsOf([from], [to]);
		const pieces = piecesOf(to), shown = pieces.map((piece) => piece.text).join('');
		assert.ok(shown.includes('NEW') && shown.length < 2000);
		assert.equal(pieces[0].kind, 'cut');
		assert.equal(pieces.at(-1).kind, 'cut');
		assert.ok(columnsOf(to.text) < 2000);
	},

	'a state is written as YAML, with the path of each line'() {
		const lines = linesOf({b: [{x: 1, y: ['q']}, [], [[1]]], 'a/~': 'yes', c: '1', d: {}, e: null, f: 'a\nb'});
		assert.deepEqual(lines.map(({text}) => text), ['"a/~": "yes"', 'b:', '- x: 1', '  "y":', '  - q', '- []', '- - - 1',
			'c: "1"', 'd: {}', 'e: null', 'f: "a\\nb"']);
		assert.equal(lines[0].path, '/a~1~0');
		assert.equal(lines[4].path, '/b/0/y/0');
	},
};

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
	try {
		run();
	} catch (error) {
		failed++;
		console.error(`${name}: ${error.stack}`);
	}
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
