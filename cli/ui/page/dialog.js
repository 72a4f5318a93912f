// A dialog: it keeps the focus, Escape closes it, and what had the focus before has it again.
import {h} from './dom.js';

let serial = 0;

// openDialog({title, content, buttons}) -> {element, body, foot, close()}. isBusy() says whether it must stay.
export function openDialog({title, content = [], buttons = [], testid, className = '', isBusy = () => false, onClose}) {
	const id = `dialog-${++serial}`;
	const before = document.activeElement;
	const heading = h('h2', {id, tabindex: '-1', text: title});
	const body = h('div.dialog-body', {}, content);
	const foot = h('div.dialog-foot', {}, buttons);
	const x = h('button.quiet', {type: 'button', 'aria-label': 'Close', text: '✕', onclick: () => close()});
	const element = h('dialog', {'aria-labelledby': id, testid, class: className}, h('div.dialog-head', {}, heading, x), body, foot);
	function close() {
		if (!isBusy()) {
			element.close();
		}
	}
	element.addEventListener('cancel', (event) => {
		if (isBusy()) {
			event.preventDefault();
		}
	});
	element.addEventListener('close', () => {
		element.remove();
		// What was done may have taken away the button that led here.
		(before?.isConnected ? before : document.getElementById('main')).focus();
		onClose?.();
	});
	// A click beside it closes it, where nothing is lost by that.
	element.addEventListener('mousedown', (event) => {
		if (event.target === element && !buttons.length) {
			close();
		}
	});
	document.body.append(element);
	element.showModal();
	heading.focus();
	return {element, body, foot, close};
}
