// The dialog that says which keys there are.
import {h, hasKeys, setKeys} from './dom.js';
import {openDialog} from './dialog.js';

const KEYS = [
	['Everywhere', [
		[['?'], 'this help'],
		[['/'], 'to the filter'],
		[['Tab'], 'to the next control'],
		[['Esc'], 'closes a dialog'],
	]],
	['In a list', [
		[['↓', '↑'], 'to the next row, to the one before; also j and k'],
		[['Page Down', 'Page Up'], 'a page on, a page back'],
		[['Home', 'End'], 'to the first row, to the last one'],
		[['Enter'], 'opens the row'],
	]],
	['In a difference', [
		[['↓', '↑'], 'to the next line, to the one before'],
		[['←', '→'], 'sideways, where lines are long'],
		[['n', 'p'], 'to the next change, to the one before'],
		[['Enter'], 'unfolds what is folded'],
		[['c', 'C'], 'copies the path of the line, copies the line'],
	]],
];

export function openHelp(about) {
	if (document.querySelector('dialog[open]')) {
		return;
	}
	const box = h('input', {type: 'checkbox', id: 'help-keys', onchange: () => setKeys(box.checked)});
	box.checked = hasKeys();
	openDialog({
		title: 'Keys', testid: 'help-dialog', className: 'help',
		content: [
			...KEYS.map(([title, rows]) => h('section', {}, h('h3', {text: title}), h('dl', {}, rows.map(([keys, text]) =>
				h('div', {}, h('dt', {}, keys.map((key) => h('kbd', {text: key}))), h('dd', {text})))))),
			h('p', {}, h('label', {for: 'help-keys'}, box, ' The keys ', h('kbd', {text: '/'}), ' and ', h('kbd', {text: '?'}), ' work everywhere')),
			about ? h('p.soft', {text: about.canWrite ? 'This page can undo and restore, after you have seen what would change.'
				: 'This page only reads. kubectl annals ui --write lets it undo and restore, too.'}) : null,
			h('p.soft', {text: 'The address names what you see: copy it to come back here, or to send it to somebody who runs this page, too.'}),
		],
	});
}
