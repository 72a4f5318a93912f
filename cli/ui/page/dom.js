// Elements are made here, and nowhere from text: what users wrote is only ever a text node.

// Characters that change how the text around them looks, or that are not seen at all: controls, marks of
// direction, line and paragraph separators, zero widths, tags, lone surrogates.
const UNSEEN = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160' +
	'\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0' +
	'\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]', 'u');

// An emoji may hold two of them: U+200D joins it to another one, and U+FE0F after it asks for its coloured form.
const EMOJI = '\\p{Extended_Pictographic}[\\u{1f3fb}-\\u{1f3ff}]?\\ufe0f?';
const EMOJIS_OR_UNSEEN = new RegExp(`${EMOJI}(?:\\u200d${EMOJI})*|[0-9#*]\\ufe0f?\\u20e3|${UNSEEN.source}`, 'gu');

const escaped = (c) => {
	const code = c.codePointAt(0);
	return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};

// The text with what cannot be seen written as \uXXXX.
export function visible(text) {
	return String(text ?? '').replace(EMOJIS_OR_UNSEEN, (found) => ([...found][0].search(UNSEEN) < 0 ? found : escaped(found)));
}

// h('a.link', {href, text, testid, onclick, ...}, child, ...): names of properties that are functions are
// listeners, `text` is shown by visible(), what begins with data- or aria- is an attribute, as is all else.
export function h(what, attributes = {}, ...children) {
	const [tag, ...classes] = what.split('.');
	const e = document.createElement(tag || 'div');
	if (classes.length) {
		e.className = classes.join(' ');
	}
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function') {
			e.addEventListener(name.slice(2), value);
		} else if (name === 'text') {
			e.textContent = visible(value);
		} else if (name === 'testid') {
			e.dataset.testid = value;
		} else if (value === true) {
			e.setAttribute(name, '');
		} else if (value !== false && value !== null && value !== undefined) {
			e.setAttribute(name, name === 'title' || name === 'aria-label' ? visible(value) : value);
		}
	}
	for (const child of children.flat()) {
		if (child !== null && child !== undefined && child !== false) {
			e.append(child instanceof Node ? child : visible(child));
		}
	}
	return e;
}

export function clear(e) {
	e.replaceChildren();
	return e;
}

// The children in this order, moved only where they are not in it: what has the focus keeps it.
export function place(parent, elements) {
	elements.forEach((each, i) => {
		if (parent.children[i] !== each) {
			parent.insertBefore(each, parent.children[i] ?? null);
		}
	});
	while (parent.children.length > elements.length) {
		parent.lastChild.remove();
	}
}

// Sets a text only where it is another one, so that nothing is laid out again for nothing.
export function setText(e, text) {
	const shown = visible(text);
	if (e.textContent !== shown) {
		e.textContent = shown;
	}
}

// Pages of 127.0.0.1 and localhost may, unless the browser's user has forbidden it.
export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false;
	}
}

// Says something to those who hear the page.
let saying = 0;
export function announce(text) {
	const region = document.getElementById('announce');
	region.textContent = '';
	clearTimeout(saying);
	saying = setTimeout(() => setText(region, text), 50);
}

// Answers that stay the same as long as the request does.
const FINAL = [400, 403, 405, 406, 413, 415, 422];

// A box that says what failed, for the eye and the ear, and whether it is worth another try.
export function errorBox(error, retry) {
	const isFinal = FINAL.includes(error.status);
	return h('div.error', {role: 'alert', testid: 'error'},
		h('strong', {text: error.title ?? 'That did not work'}),
		h('p', {text: error.message ?? String(error)}),
		isFinal ? h('p', {text: 'Retrying does not help.'}) : null,
		retry && !isFinal ? h('button', {type: 'button', text: 'Try again', onclick: retry}) : null);
}

// Keys of one character are in the way of those who speak to their machine: the help switches them off.
const KEYS = 'annals-keys';
export function hasKeys() {
	try {
		return localStorage.getItem(KEYS) !== 'off';
	} catch {
		return true;
	}
}

export function setKeys(isOn) {
	try {
		localStorage.setItem(KEYS, isOn ? 'on' : 'off');
	} catch {
		// Storage is forbidden: then they stay as they are.
	}
}
