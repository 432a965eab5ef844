/*
 * What the built-in pages do better with a script. Everything but passkeys and puzzles works without.
 *
 * input[type=password] within .secret: a button that shows what was typed.
 * button[data-passkey="get"|"create"]: data-options are the options of the ceremony. The answer goes, as JSON, into the
 *   field `passkey` of its form, which the button then submits. With data-conditional, passkeys are offered in the
 *   autofill of the form as well. [data-passkey-error] within the form says what went wrong.
 * input[data-puzzle]: the puzzle; data-bits, how hard. Its solution becomes the value. [data-puzzle-status] within the form
 *   says how far it is. The work is done by this same file, as a worker.
 * a[data-onward]: where the page leads by itself, once its frames are loaded or have had their time.
 * meta[name=sluice-words]: what the script says in the language of the page, as JSON under the English words.
 * Every form: is sent once, however often its button is pressed.
 */
'use strict';

(() => {
  /* Puzzles: find a text such that SHA-256(puzzle + text) begins with so many zero bits. */

  const PRIMES = [];
  for (let number = 2; PRIMES.length < 64; number++) {
    if (PRIMES.every((prime) => number % prime)) PRIMES.push(number);
  }
  const fraction = (root) => ((root - Math.floor(root)) * 0x100000000) | 0;
  const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
  const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  const words = new Int32Array(64);

  /* One block of 64 bytes into the state (FIPS 180-4 §6.2.2). */
  function compress(state, view, offset) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(offset + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15];
      const y = words[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
    }
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  function solve(puzzle, bits) {
    const prefix = new TextEncoder().encode(puzzle);
    const bytes = new Uint8Array(prefix.length + 192);
    const view = new DataView(bytes.buffer);
    const begun = START.slice();
    const state = new Int32Array(8);
    bytes.set(prefix);
    // The blocks that never change are hashed once.
    const fixed = prefix.length - (prefix.length % 64);
    for (let block = 0; block < fixed; block += 64) compress(begun, view, block);
    for (let number = 0; ; number++) {
      const text = String(number);
      const length = prefix.length + text.length;
      const end = length - (length % 64) + (length % 64 < 56 ? 64 : 128);
      for (let i = 0; i < text.length; i++) bytes[prefix.length + i] = text.charCodeAt(i);
      bytes[length] = 0x80;
      bytes.fill(0, length + 1, end);
      view.setUint32(end - 4, length * 8);
      state.set(begun);
      for (let block = fixed; block < end; block += 64) compress(state, view, block);
      const first = Math.clz32(state[0]);
      if ((first < 32 ? first : 32 + Math.clz32(state[1])) >= bits) return text;
    }
  }

  if (typeof document === 'undefined') {
    self.onmessage = ({ data }) => self.postMessage(solve(data.puzzle, data.bits));
    return;
  }

  const script = document.currentScript.src;

  /* What is said in the language of the page, which brings the words: without them in English. */
  const meta = document.querySelector('meta[name="sluice-words"]');
  const translations = meta ? JSON.parse(meta.content) : {};
  const inWords = (english) => translations[english] || english;

  function prepare(field) {
    const form = field.form;
    const status = form.querySelector('[data-puzzle-status]');
    const say = (text) => {
      if (status) status.textContent = text;
    };
    let worker;
    let submitter;
    let waits = false;

    const begin = () => {
      if (worker) return;
      worker = new Worker(script);
      worker.onmessage = ({ data }) => {
        field.value = data;
        worker.terminate();
        if (!waits) return;
        say('');
        form.requestSubmit(submitter);
      };
      worker.onerror = () => say(inWords('Your browser could not prepare this form. Please reload the page.'));
      worker.postMessage({ puzzle: field.dataset.puzzle, bits: Number(field.dataset.bits) });
    };

    // Not before somebody types: who only looks at the page has nothing to solve.
    form.addEventListener('input', begin, { once: true });
    form.addEventListener('submit', (event) => {
      if (field.value || (event.submitter && event.submitter.dataset.passkey)) return;
      event.preventDefault();
      submitter = event.submitter || undefined;
      waits = true;
      say(inWords('One moment: your browser is preparing the form.'));
      begin();
    });
  }

  /* Passwords */

  function reveal(input) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'reveal';
    button.setAttribute('aria-controls', input.id);
    // Of two fields on a page each has its own.
    const label = input.labels && input.labels[0];
    const name = label ? label.textContent.trim() : 'password';
    // In English only names are written with a capital letter within a sentence; elsewhere, who knows.
    const field = meta ? name : name.toLowerCase();
    const show = (shown) => {
      input.type = shown ? 'text' : 'password';
      button.textContent = shown ? inWords('Hide') : inWords('Show');
      const said = shown ? inWords('Hide {field}') : inWords('Show {field}');
      button.setAttribute('aria-label', said.replace('{field}', () => field));
    };
    button.addEventListener('click', () => {
      show(input.type === 'password');
      input.focus();
    });
    input.form.addEventListener('submit', () => show(false));
    show(false);
    input.after(button);
  }

  /* Passkeys */

  function toBytes(text) {
    const binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  }

  function toText(buffer) {
    const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
    return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  }

  function read(json) {
    const options = JSON.parse(json).publicKey;
    const withBytes = (known) => ({ ...known, id: toBytes(known.id) });
    options.challenge = toBytes(options.challenge);
    if (options.user) options.user.id = toBytes(options.user.id);
    for (const list of ['allowCredentials', 'excludeCredentials']) {
      if (options[list]) options[list] = options[list].map(withBytes);
    }
    return options;
  }

  function write(credential) {
    const response = {};
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
      if (credential.response[name]) response[name] = toText(credential.response[name]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return JSON.stringify({
      id: credential.id,
      rawId: toText(credential.rawId),
      type: credential.type,
      response,
      clientExtensionResults: credential.getClientExtensionResults(),
    });
  }

  // In milliseconds: what the way from the server and back may take, and the least that somebody needs to make a passkey.
  const ON_THE_WAY = 10000;
  const TO_MAKE = 60000;
  const shownAt = Date.now();

  const creates = (button) => button.dataset.passkey === 'create';

  /* For how long the server still takes what is made by these options: it counts from when it gave them, a browser from the click. */
  function left(options) {
    return options.timeout - ON_THE_WAY - (Date.now() - shownAt);
  }

  /* What is made too late the server does not take, but the authenticator keeps it. So nothing is made, and the server is asked anew. */
  function isTooLate(button) {
    return creates(button) && left(read(button.dataset.options)) < TO_MAKE;
  }

  function askAnew(button) {
    button.form.elements.namedItem('passkey_state').value = '';
    button.form.requestSubmit(button);
  }

  // Only one ceremony may be under way: the quiet one of the autofill ends when somebody presses a button.
  let quiet = null;

  async function run(button, mediation) {
    const create = creates(button);
    const options = read(button.dataset.options);
    if (create) options.timeout = left(options);
    const request = { publicKey: options };
    // A browser may take more time than it is told.
    if (create) request.signal = AbortSignal.timeout(options.timeout);
    if (mediation) {
      quiet = new AbortController();
      Object.assign(request, { mediation, signal: quiet.signal });
    }
    const credential = await (create ? navigator.credentials.create(request) : navigator.credentials.get(request));
    button.form.elements.namedItem('passkey').value = write(credential);
    button.form.requestSubmit(button);
  }

  function sentence(error, button) {
    if (error.name === 'InvalidStateError' && creates(button)) return inWords('This device has a passkey for your account already.');
    if (['NotAllowedError', 'TimeoutError'].includes(error.name)) return inWords('No passkey was used. You can try again.');
    return inWords('Your browser could not use a passkey.');
  }

  function offer(button) {
    const form = button.form;
    const error = form.querySelector('[data-passkey-error]');
    const say = (text) => {
      if (error) error.textContent = text;
    };
    button.addEventListener('click', async (event) => {
      event.preventDefault();
      if (button.hasAttribute('aria-busy')) return;
      if (quiet) quiet.abort();
      say('');
      if (isTooLate(button)) {
        askAnew(button);
        return;
      }
      button.setAttribute('aria-busy', 'true');
      try {
        await run(button);
      } catch (failed) {
        say(sentence(failed, button));
        if ('conditional' in button.dataset) offerQuietly(button);
      } finally {
        button.removeAttribute('aria-busy');
      }
    });
    if ('conditional' in button.dataset) {
      offerQuietly(button);
      renewWhenSeen(button);
    }
  }

  /* A page to sign in may have waited in another tab for longer than its passkey may take. Nobody is to learn that from a passkey that is
     refused: it is loaded anew when somebody looks at it again, unless something was typed, or went wrong that is still to be read. */
  function renewWhenSeen(button) {
    const isUntouched = (field) => field.value === field.defaultValue && field.checked === field.defaultChecked;
    const untouched = () => [...button.form.querySelectorAll('input')].every(isUntouched);
    const renew = () => {
      const isLate = Date.now() - shownAt > TO_MAKE && left(read(button.dataset.options)) < TO_MAKE;
      if (document.hidden || !isLate) return;
      if (button.hasAttribute('aria-busy') || document.querySelector('[role=alert]:not(:empty)') || !untouched()) return;
      // By its address: a page that a form led to is not to send that again.
      window.location.replace(window.location.href);
    };
    document.addEventListener('visibilitychange', renew);
    window.addEventListener('pageshow', renew);
  }

  async function offerQuietly(button) {
    const can = PublicKeyCredential.isConditionalMediationAvailable;
    if (!can || !(await can.call(PublicKeyCredential)) || button.hasAttribute('aria-busy')) return;
    try {
      await run(button, 'conditional');
    } catch {
      // Nobody asked for it, so nobody is told.
    }
  }

  /* What is shown once: to be kept on paper, or elsewhere. */

  function offerCopy(button) {
    if (!navigator.clipboard) {
      button.remove();
      return;
    }
    const status = document.querySelector('[data-copy-status]');
    button.addEventListener('click', async () => {
      let told = inWords('Copied.');
      try {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
      } catch {
        told = inWords('Your browser could not copy it.');
      }
      if (status) status.textContent = told;
    });
  }

  /* The way on from a page whose frames tell applications something. */

  // In milliseconds: what all frames together may take, and what they have to act once they are there.
  const FRAMES = 7000;
  const FRAMES_ACT = 500;

  function goOn(link) {
    let left = false;
    const leave = () => {
      if (!left) window.location.replace(link.href);
      left = true;
    };
    // A page is loaded when its frames are, and a refresh waits for that: one that never answers is to keep nobody here.
    window.addEventListener('load', () => setTimeout(leave, FRAMES_ACT));
    setTimeout(leave, FRAMES);
  }

  /* Forms: the second click of two would send what the first has spent, such as a code, and show what came of that. */

  // For so long, in milliseconds: a page may stay where it is, if an application opened or somebody stopped it.
  const ONCE = 10000;
  let sentAt = -Infinity;
  // After the listeners of the form itself: what waits for its puzzle is not sent.
  document.addEventListener('submit', (event) => {
    if (event.defaultPrevented) return;
    if (event.timeStamp - sentAt < ONCE) event.preventDefault();
    else sentAt = event.timeStamp;
  });
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) sentAt = -Infinity;
  });

  const all = (selector) => document.querySelectorAll(selector);
  all('.secret input[type=password]').forEach(reveal);
  all('input[data-puzzle]').forEach(prepare);
  all('a[data-onward]').forEach(goOn);
  const capable = 'PublicKeyCredential' in window;
  const works = (part) => capable || !part.querySelector('[data-passkey]');
  all('.needs-script').forEach((part) => part.classList.add(works(part) ? 'is-ready' : 'is-unable'));
  all('button[data-print]').forEach((button) => button.addEventListener('click', () => window.print()));
  all('button[data-copy]').forEach(offerCopy);
  if (capable) all('button[data-passkey]').forEach(offer);
})();
