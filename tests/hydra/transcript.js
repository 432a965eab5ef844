// Plays scenarios against a server and writes down what it answers, step by step.
import { Browser } from './browser.js'
import { Names } from './names.js'
import { address, normal, presented } from './normal.js'
import { recorded } from './answer.js'

/** One scenario at one server: requests by name, and what became of them. */
export class Transcript {
  steps = []
  #quiet = false

  constructor({ publicUrl, adminUrl }) {
    this.publicUrl = publicUrl
    this.adminUrl = adminUrl
    this.names = new Names({ [publicUrl]: '{public}', [adminUrl]: '{admin}' })
  }

  /** What `prepare` does is no step: other scenarios show it. */
  async quietly(prepare) {
    const before = this.#quiet
    this.#quiet = true
    try {
      return await prepare()
    } finally {
      this.#quiet = before
    }
  }

  browser() {
    return new Browser(this)
  }

  public(step, operation, options) {
    return this.send(step, this.publicUrl, operation, options)
  }

  admin(step, operation, options) {
    return this.send(step, this.adminUrl, operation, options)
  }

  /** Writes down as a step what was prepared quietly: an answer that `send` gave. */
  show(step, answer) {
    this.names.begin(step)
    this.#add(step, 'what came last of what was given', recorded(this.names, answer, answer.text))
    return answer
  }

  /** The same for a body alone. */
  note(step, body) {
    this.names.begin(step)
    this.#add(step, 'what came last of what was given', { status: 200, body: normal(this.names, body) })
  }

  /** One request and its answer; of the parameters of `secretForm` it is only written down that they were sent. The answer: `status`, `headers`, `text`, `json`, and `location` as a URL. */
  async send(step, server, operation, { query, json, form, secretForm = [], text, headers = {}, basic, bearer } = {}) {
    const [method, path] = operation.split(' ')
    const url = new URL(path, server)
    for (const [name, value] of pairs(query)) url.searchParams.append(name, value)
    const body = json !== undefined ? JSON.stringify(json) : form !== undefined ? new URLSearchParams(pairs(form)).toString() : text
    this.names.begin(this.#quiet ? 'what was given' : step)
    const sent = new Headers(headers)
    if (json !== undefined && !sent.has('content-type')) sent.set('content-type', 'application/json')
    if (form !== undefined && !sent.has('content-type')) sent.set('content-type', 'application/x-www-form-urlencoded')
    if (basic) sent.set('authorization', `Basic ${Buffer.from(basic.join(':')).toString('base64')}`)
    if (bearer !== undefined) sent.set('authorization', `Bearer ${bearer}`)
    const response = await fetch(url, { method, headers: sent, body, redirect: 'manual', signal: AbortSignal.timeout(10_000) })
    const answer = await read(response, url)
    const shown = form && pairs(form).map(([name, value]) => [name, secretForm.includes(name) ? `my-${name}` : value])
    this.#write(step, { method, url, json, form: shown, text, credentials: credentials(this.names, { basic, bearer }) }, response, answer)
    return answer
  }

  #write(step, { method, url, json, form, text, credentials }, response, answer) {
    const { to, query } = address(this.names, url.href)
    const request = { to: `${method} ${to}`, query, ...credentials, form: form && presented(this.names, form), json: json && normal(this.names, json), text }
    const made = recorded(this.names, response, answer.text)
    if (!this.#quiet) this.#add(step, request, made)
  }

  #add(step, request, answer) {
    if (this.steps.some((other) => other.step === step)) throw new Error(`two steps are called "${step}"`)
    this.steps.push({ step, request: plain(request), answer: plain(answer) })
  }
}

/** Plays `scenario`; a step that fails by itself ends it, and is told. */
export async function play(scenario, servers) {
  const transcript = new Transcript(servers)
  await scenario(transcript)
  return transcript.steps
}

async function read(response, url) {
  const text = await response.text()
  const location = response.headers.get('location')
  return { status: response.status, headers: response.headers, text, json: parsed(text), location: location ? new URL(location, url) : undefined }
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function credentials(names, { basic, bearer }) {
  if (basic) return { basic: names.replaced(basic.join(':')) }
  if (bearer !== undefined) return { bearer: names.standIn('access_token', bearer) ?? bearer }
  return {}
}

/** Pairs of names and values: an object with lists for what is there more than once, or the pairs themselves. */
function pairs(given = {}) {
  if (Array.isArray(given)) return given
  return Object.entries(given).flatMap(([name, value]) => [value].flat().filter((one) => one !== undefined).map((one) => [name, String(one)]))
}

/** Without members that are undefined. */
function plain(value) {
  return JSON.parse(JSON.stringify(value))
}
