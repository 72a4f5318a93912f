// Going back: the command that does it, to copy; and, where the page may write, a button that shows first what
// the server says would change.
import {ApiError, postJson} from '../api.js';
import {openDialog} from '../dialog.js';
import {announce, clear, copy, errorBox, h, setText, visible} from '../dom.js';

// A word of a command line for a POSIX shell. One with characters that cannot be seen is written so that they can.
export function quote(word) {
	if (visible(word) !== word || /[\n\t]/.test(word)) {
		const escaped = word.replaceAll('\\', '\\\\').replaceAll('\'', '\\\'').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
		return `$'${visible(escaped)}'`;
	}
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`;
}

const typeOf = ({group, kind, resource}) => {
	const name = resource ?? kind.toLowerCase();
	return group ? `${name}.${group}` : name;
};

// kubectl annals undo statefulset.apps/web --to-revision=2 -n shop --context=prod
export function commandOf({ctx, group, kind, namespace, name, revision, isDeleted, own}) {
	const words = ['kubectl', 'annals', isDeleted ? 'restore' : 'undo', `${typeOf({group, kind})}/${name}`];
	if (revision !== undefined) {
		words.push(`--${isDeleted ? 'revision' : 'to-revision'}=${revision}`);
	}
	if (own) {
		words.push('--own');
	}
	if (namespace) {
		words.push('-n', namespace);
	}
	if (ctx.about.context) {
		words.push(`--context=${ctx.about.context}`);
	}
	return words.map(quote).join(' ');
}

// The dialog: a dry run, what it says, and then the write of exactly that.
class Writing {
	constructor(what, onDone) {
		Object.assign(this, {what, onDone, isBusy: false, stop: new AbortController()});
		const {kind, name, revision, isDeleted} = what;
		this.verb = isDeleted ? 'Restore' : 'Undo';
		this.path = isDeleted ? 'restore' : 'undo';
		this.state = h('p', {role: 'status'});
		this.result = h('div.dialog-parts');
		this.cancel = h('button', {type: 'button', text: 'Cancel', onclick: () => this.dialog.close()});
		this.confirm = h('button.primary', {type: 'button', testid: this.path === 'undo' ? 'undo-confirm' : 'restore-confirm', text: `${this.verb} it`, disabled: true,
			onclick: () => this.write()});
		this.dialog = openDialog({
			title: isDeleted ? `Recreate ${kind} ${name} from revision ${revision}?` : `Roll ${kind} ${name} back to revision ${revision}?`,
			testid: isDeleted ? 'restore-preview' : 'undo-preview', content: [this.state, this.result], buttons: [this.cancel, this.confirm],
			isBusy: () => this.isBusy, onClose: () => {
				this.stop.abort();
				this.diff?.close?.();
				if (this.isDone) {
					onDone?.();
				}
			},
		});
		this.preview();
	}

	body(more) {
		const {group, kind, namespace, name, revision, own} = this.what;
		return {type: typeOf({group, kind}), namespace: namespace || '', name, revision, ...(own ? {own: true} : {}), ...more};
	}

	async preview() {
		setText(this.state, 'Asking the server what would change…');
		this.confirm.disabled = true;
		this.diff?.close?.();
		clear(this.result);
		try {
			const answer = await postJson(this.path, this.body({dryRun: true}), {signal: this.stop.signal});
			this.proof = answer.proof;
			await this.show(answer);
		} catch (error) {
			if (error.name !== 'AbortError') {
				this.refused(error);
			}
		}
	}

	async show({hunks: doc, notes}) {
		const isChange = doc.hunks.length > 0;
		const {Diff} = await import('../diff.js');
		setText(this.state, isChange ? 'The server has simulated it, and written nothing. This would change:' : 'Nothing would change.');
		if (notes?.length) {
			this.result.append(h('ul.notes', {'aria-label': 'Notes'}, notes.map((text) => h('li', {text}))));
		}
		if (isChange) {
			this.diff = new Diff({label: 'What would change', mode: 'inline', loadWhole: () => this.loadWhole(doc)});
			this.result.append(this.diff.element);
			this.diff.show(doc);
		}
		this.confirm.disabled = !isChange;
		setText(this.cancel, isChange ? 'Cancel' : 'Close');
	}

	// All lines of what is shown. Where the object has changed since, they would be lines of something else.
	async loadWhole({fromLines, toLines}) {
		const {hunks: whole} = await postJson(this.path, this.body({dryRun: true, context: 'all'}), {signal: this.stop.signal});
		const count = (op) => whole.hunks.reduce((n, each) => n + each.lines.filter((line) => line.op !== op).length, 0);
		if (whole.fromLines !== fromLines || whole.toLines !== toLines || count('+') !== fromLines || count('-') !== toLines) {
			throw new Error('the object has changed meanwhile');
		}
		return whole;
	}

	refused(error) {
		const isStale = error.status === 409;
		setText(this.state, isStale ? 'The object has changed since this was shown.' : '');
		this.confirm.disabled = true;
		this.diff?.close?.();
		this.diff = null;
		clear(this.result).append(errorBox(error, () => {
			this.dialog.element.querySelector('h2').focus();
			this.preview();
		}));
	}

	async write() {
		this.setBusy(true);
		setText(this.state, 'Writing…');
		try {
			const {message} = await postJson(this.path, this.body({dryRun: false, proof: this.proof}));
			this.isDone = true;
			this.diff?.close?.();
			this.diff = null;
			setText(this.state, '');
			clear(this.result).append(h('p.done', {testid: 'write-done', text: message}));
			announce(message);
			this.confirm.remove();
			setText(this.cancel, 'Close');
		} catch (error) {
			// Nobody knows whether a write was carried out whose answer is lost: it is looked at again.
			this.refused(error.status ? error : new ApiError(0, '', 'The answer was lost, so nobody knows whether it was written. Look at the object before you retry.'));
		}
		this.setBusy(false);
		this.cancel.focus();
	}

	setBusy(isBusy) {
		this.isBusy = isBusy;
		this.dialog.element.setAttribute('aria-busy', isBusy);
		this.confirm.disabled = this.confirm.disabled || isBusy;
		this.cancel.disabled = isBusy;
	}
}

// What can be done with a revision: {ctx, group, kind, namespace, name, revision, isCurrent, isDeleted, own, onDone}.
export function actions(what) {
	const {ctx, revision, isCurrent, isDeleted} = what;
	if (isCurrent && !isDeleted) {
		return h('div.write', {testid: 'write'}, h('p.soft', {text: `The object is at revision ${revision} now.`}));
	}
	const verb = isDeleted ? 'restore' : 'undo';
	const text = commandOf(what);
	const copyButton = h('button', {type: 'button', text: 'Copy', 'aria-label': 'Copy the command', onclick: async () => {
		const isCopied = await copy(text);
		setText(copyButton, isCopied ? 'Copied' : 'Not copied');
		announce(isCopied ? 'The command is copied.' : 'The command could not be copied.');
		setTimeout(() => setText(copyButton, 'Copy'), 2000);
	}});
	return h('div.write', {testid: 'write'},
		h('h2', {text: isDeleted ? `Recreate it from revision ${revision}` : `Go back to revision ${revision}`}),
		h('div.command', {}, h('code', {testid: `${verb}-command`, text}), copyButton,
			ctx.about.canWrite ? h('button', {type: 'button', testid: `${verb}-button`, text: isDeleted ? 'Restore…' : 'Undo…',
				onclick: () => new Writing(what, what.onDone)}) : null));
}
