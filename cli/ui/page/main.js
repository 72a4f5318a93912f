// The start: a session, what the server says of itself, and the view that the address names.
import {addressOf, parseAddress, VIEWS} from './address.js';
import {exchangeToken, getJson, hasSession, onSessionFound, onSessionLost, pause, retryNow} from './api.js';
import {announce, clear, errorBox, h, hasKeys, setText} from './dom.js';
import {startClock} from './time.js';

const main = document.getElementById('main');
const liveMark = document.getElementById('live'), lostNote = document.getElementById('lost');
const WAIT_FIRST = 500, WAIT_MOST = 15000; // milliseconds between two tries
const PLACES_MAX = 200;
let about = null, current = null, opening = 0;

// ---- what a view is given ----

function setLive(state, text) {
	liveMark.hidden = state === 'none';
	if (liveMark.dataset.state !== state) {
		liveMark.dataset.state = state;
		if (state === 'lost') {
			announce(text || 'The connection is lost; trying again.');
		}
	}
	setText(liveMark.querySelector('.live-text'), {live: 'live', lost: 'reconnecting', loading: 'loading'}[state] ?? '');
	liveMark.title = text || {live: 'Changes are shown as they happen', loading: 'Reading'}[state] || '';
	lostNote.hidden = state !== 'lost';
	setText(lostNote.firstChild, `No connection. ${text ?? ''} What is shown may be out of date. Retrying…`);
}

const context = {
	get about() {
		return about;
	},
	address: addressOf,
	// go(): another place, which Back leaves again. put(): the same place, said more exactly.
	go: (view, params, event) => {
		if (event?.ctrlKey || event?.metaKey) {
			window.open(addressOf(view, params), '_blank', 'noopener');
		} else {
			location.hash = addressOf(view, params);
		}
	},
	put: (view, params) => {
		history.replaceState(history.state, '', addressOf(view, params));
		document.title = `${current.view.title(params)} · annals`;
	},
	setLive,
	announce,
	// The resource of a kind, or of a name such as 'sts' or 'configmaps'.
	resourceOf: (group, kind) => about.resources.find((r) => r.group === group && r.kind === kind),
};

// ---- places ----

// Where somebody was in a view, by the browser's history: Back returns there.
const places = new Map();
let entries = 0;

function entryOf() {
	if (!history.state?.entry) {
		history.replaceState({entry: `${performance.timeOrigin}-${++entries}`}, '');
	}
	return history.state.entry;
}

function keepPlace({view, entry}) {
	places.delete(entry);
	places.set(entry, view.place?.());
	if (places.size > PLACES_MAX) {
		places.delete(places.keys().next().value);
	}
}

// ---- views ----

async function leave() {
	const old = current;
	current = null;
	if (old) {
		keepPlace(old);
	}
	setLive('none');
	const closed = old?.view.close?.();
	clear(main); // at once: whoever does not wait for this may fill it next
	main.className = '';
	await closed;
}

function say(testid, title, ...children) {
	clear(main).append(h('div.message', {testid}, h('h1', {text: title}), ...children));
	document.title = 'annals';
}

function sayNoSession(reason) {
	opening++;
	leave();
	document.getElementById('nav').replaceChildren();
	setText(document.getElementById('where'), '');
	say('no-session', 'This page needs a link',
		reason ? h('p', {text: reason}) : null,
		h('p', {}, 'It reads your cluster with your permissions. So a browser gets in by a link that works once.'),
		h('p', {}, 'To get one, press ', h('kbd', {text: 'Enter'}), ' in the terminal that runs ', h('code', {text: 'kubectl annals ui'}),
			', or start it:'),
		h('pre', {text: 'kubectl annals ui'}),
		h('p', {}, 'Open the link in this browser, in any tab. Then this tab shows what its address names.'));
}

async function show() {
	const mine = ++opening;
	const start = about.mode === 'plain' ? 'workloads' : 'timeline';
	const {view: name, params} = parseAddress(location.hash);
	if (!name) {
		history.replaceState(null, '', addressOf(start));
		return show();
	}
	for (const link of document.querySelectorAll('#nav a')) {
		link.removeAttribute('aria-current');
		if (link.dataset.view === name) {
			link.setAttribute('aria-current', 'page');
		}
	}
	if (!VIEWS[name]) {
		await leave();
		say('error', 'This view does not exist', h('p', {}, h('a', {href: addressOf(start), text: 'Go to the start'})));
		return;
	}
	// The same view with other parameters may take them as they are.
	if (current?.name === name) {
		keepPlace(current);
	}
	if (current?.name === name && current.view.update?.(params)) {
		current.entry = entryOf();
		document.title = `${current.view.title(params)} · annals`;
		return;
	}
	try {
		const view = (await import(VIEWS[name].module)).default;
		if (mine !== opening) {
			return;
		}
		const isFirst = !current;
		await leave();
		current = {name, view, entry: entryOf()};
		document.title = `${view.title(params)} · annals`;
		main.className = `view-${name}`;
		await view.open(main, params, context, places.get(current.entry));
		if (!isFirst) {
			main.focus({preventScroll: true});
			announce(view.title(params));
		}
	} catch (error) {
		if (mine === opening && error.name !== 'AbortError' && hasSession()) {
			clear(main).append(errorBox(error, show));
		}
	}
}

function fillBar() {
	const links = about.mode === 'plain' ? [['workloads', 'Workloads']]
		: [['timeline', 'Timeline'], ['workloads', 'Workloads'], ['usage', 'Usage']];
	document.getElementById('nav').replaceChildren(...links.map(([view, text]) =>
		h('a', {href: addressOf(view), text, 'data-view': view})));
	const where = document.getElementById('where');
	setText(where, about.context || about.server);
	where.title = about.server ?? '';
}

let beginning = 0;

async function begin() {
	const mine = ++beginning;
	for (let wait = WAIT_FIRST;; wait = Math.min(2 * wait, WAIT_MOST)) {
		try {
			about = await getJson('about');
			break;
		} catch (error) {
			if (!hasSession() || mine !== beginning) {
				return;
			}
			const isForNow = !error.status || error.status >= 500 || error.status === 429;
			clear(main).append(errorBox(error, isForNow ? retryNow : begin));
			if (!isForNow) {
				return;
			}
		}
		await pause(wait);
		if (mine !== beginning) {
			return;
		}
	}
	fillBar();
	await show();
}

// ---- start ----

// Help is read when somebody asks for it.
async function openHelp(about) {
	(await import('./help.js')).openHelp(about);
}

async function start() {
	onSessionLost(() => {
		about = null;
		sayNoSession('The session has ended, because the server was started again.');
	});
	onSessionFound(() => about ?? begin());
	lostNote.querySelector('button').addEventListener('click', () => {
		retryNow();
		current?.view.retry?.();
	});
	window.addEventListener('hashchange', () => {
		if (takesToken()) {
			enter();
		} else if (about) {
			show();
		}
	});
	document.getElementById('skip').addEventListener('click', (event) => {
		event.preventDefault();
		main.focus();
	});
	document.addEventListener('keydown', (event) => {
		const isTyping = event.target.closest?.('input, textarea, select');
		if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !hasKeys()) {
			return;
		}
		if (event.key === '/') {
			const field = main.querySelector('[data-filter]');
			if (field) {
				field.focus();
				field.select?.();
				event.preventDefault();
			}
		} else if (event.key === '?') {
			openHelp(about);
			event.preventDefault();
		}
	});
	startClock();
	const help = document.getElementById('help');
	help.addEventListener('click', () => openHelp(about));
	await enter();
}

let token = '', wanted = '';

// The token is taken out of the address at once: it is in no history, and in no link that is sent. A link that names no view leads to
// the one that was wanted before.
function takesToken() {
	const match = /^#token=([^&]*)(?:&(.*))?$/s.exec(location.hash);
	if (match) {
		token = match[1];
		history.replaceState(history.state, '', location.pathname + (match[2] ? `#${match[2]}` : wanted));
	}
	wanted = location.hash;
	return Boolean(match);
}

async function enter() {
	if (token) {
		const once = token;
		token = '';
		try {
			await exchangeToken(once);
		} catch (error) {
			// A link that was used is no reason to leave a session that goes on.
			if (!hasSession()) {
				sayNoSession(error.status === 401 ? 'This link has already been used, or a newer one has replaced it.' : error.message);
				return;
			}
		}
	}
	if (!hasSession()) {
		sayNoSession();
		return;
	}
	await begin();
}

takesToken();
start();
