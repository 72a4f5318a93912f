// The start: a session, what the server says of itself, and the view that the address names.
import {addressOf, parseAddress, VIEWS} from './address.js';
import {exchangeToken, getJson, hasSession, onSessionLost} from './api.js';
import {announce, clear, errorBox, h, hasKeys, setText} from './dom.js';
import {startClock} from './time.js';

const main = document.getElementById('main');
const liveMark = document.getElementById('live');
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
	liveMark.title = text || {live: 'Changes are shown as they happen', loading: 'Reading what there is'}[state] || '';
}

const context = {
	get about() {
		return about;
	},
	address: addressOf,
	// go(): another place, which Back leaves again. put(): the same place, said more exactly.
	go: (view, params) => {
		location.hash = addressOf(view, params);
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

// ---- views ----

async function leave() {
	const old = current;
	current = null;
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
	say('no-session', 'A link is needed to look here',
		reason ? h('p', {text: reason}) : null,
		h('p', {}, 'This page reads your cluster with your rights. So it opens by a link that works once.'),
		h('p', {}, 'Get one: press ', h('kbd', {text: 'Enter'}), ' in the terminal in which ', h('code', {text: 'kubectl annals ui'}),
			' runs, or start it:'),
		h('pre', {text: 'kubectl annals ui'}));
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
		say('error', 'There is no such view', h('p', {}, h('a', {href: addressOf(start), text: 'To the start'})));
		return;
	}
	// The same view with other parameters may take them as they are.
	if (current?.name === name && current.view.update?.(params)) {
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
		current = {name, view};
		document.title = `${view.title(params)} · annals`;
		main.className = `view-${name}`;
		await view.open(main, params, context);
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

async function begin() {
	try {
		about = await getJson('about');
	} catch (error) {
		if (hasSession()) {
			clear(main).append(errorBox(error, begin));
		}
		return;
	}
	fillBar();
	await show();
}

// ---- start ----

// Help is read when somebody asks for it.
async function openHelp(told) {
	(await import('./help.js')).openHelp(told);
}

async function start() {
	onSessionLost(() => {
		about = null;
		sayNoSession('The session has ended: the server was started again, or the link is an old one.');
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

let token = '';

// The token is taken out of the address at once: it is in no history, and in no link that is sent.
function takesToken() {
	const match = /^#token=([^&]*)(?:&(.*))?$/s.exec(location.hash);
	if (match) {
		token = match[1];
		history.replaceState(null, '', location.pathname + (match[2] ? `#${match[2]}` : ''));
	}
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
				sayNoSession(error.status === 401 ? 'This link was used already, or is an old one.' : error.message);
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
