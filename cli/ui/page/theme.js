// Light, dark, or as the system says. This is no module, since those run late: the page is to be painted in the
// right colours at once.
(() => {
	const KEY = 'annals-theme', root = document.documentElement;
	const LOOKS = {
		system: {glyph: '◐', text: 'as the system says', next: 'light'},
		light: {glyph: '☀\ufe0e', text: 'light', next: 'dark'},
		dark: {glyph: '☾\ufe0e', text: 'dark', next: 'system'},
	};
	let look = 'system', button = null;

	function read() {
		try {
			look = Object.hasOwn(LOOKS, localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : 'system';
		} catch {
			// Storage is forbidden: then it is as the system says, until somebody says otherwise.
		}
	}

	function keep() {
		try {
			localStorage.setItem(KEY, look);
		} catch {
			// It holds until the page is left.
		}
	}

	function show() {
		if (look === 'system') {
			root.removeAttribute('data-theme');
		} else {
			root.dataset.theme = look;
		}
		if (button) {
			const {glyph, text, next} = LOOKS[look];
			button.textContent = glyph;
			button.dataset.look = look;
			button.title = `Colours: ${text}`;
			button.setAttribute('aria-label', `Colours: ${text}. Change to ${LOOKS[next].text}`);
		}
	}

	read();
	show();
	addEventListener('storage', (event) => {
		if (event.key === KEY) {
			read();
			show();
		}
	});
	document.addEventListener('DOMContentLoaded', () => {
		button = document.getElementById('theme');
		button?.addEventListener('click', () => {
			look = LOOKS[look].next;
			keep();
			show();
		});
		show();
	});
})();
