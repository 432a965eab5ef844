// What no two runs have in common, by name: ids and tokens by kind and the step that they are first seen in, keys as there or not.

/** Members whose value a server makes up. What a scenario chose itself begins with `my-` and stays. */
const MADE_UP = new Set([
  'access_token', 'challenge', 'client_id', 'client_secret', 'code', 'consent_challenge', 'consent_request_id', 'consent_verifier', 'id',
  'id_token', 'jti', 'kid', 'login_challenge', 'login_session_id', 'login_verifier', 'logout_challenge', 'logout_verifier', 'page_token',
  'refresh_token', 'registration_access_token', 'session_id', 'sid', 'sub',
])

/** Members of which it only counts that they are there: hashes, numbers of keys, what is sealed. */
const THERE = new Set(['at_hash', 'c_hash', 'd', 'dp', 'dq', 'n', 'p', 'q', 'qi', 's_hash', 'slc', 'x', 'x5c', 'x5t', 'x5t#S256', 'y', 'version'])

/** Sentences: everybody has their own. */
const SENTENCES = new Set(['debug', 'error_debug', 'error_description', 'error_hint', 'message', 'reason'])

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const SHORTEST = 12

export class Names {
  #found = new Map()
  #kept = new Set()
  #hosts
  #step = ''

  /** `hosts`: what stands for the origins of a server, by origin. */
  constructor(hosts) {
    this.#hosts = Object.entries(hosts)
  }

  /** From here on values are found in `step`. */
  begin(step) {
    this.#step = step
  }

  /** Has `value`, which a scenario chose, stay as it is. */
  keep(value) {
    this.#kept.add(value)
    return value
  }

  /** What stands for `text`, the value of the member `key`; undefined if it says something itself. */
  standIn(key, text) {
    if (text === '' || this.#kept.has(text) || text.startsWith('my-')) return undefined
    if (SENTENCES.has(key)) return '<sentence>'
    if (THERE.has(key)) return `<${key}>`
    if (MADE_UP.has(key)) return this.#name(key, text)
  }

  /** `text` with all in it that has a name under that name. */
  replaced(text) {
    let result = text
    for (const [origin, label] of this.#hosts) result = result.replaceAll(origin, label)
    if (result.length < SHORTEST) return result
    for (const value of [...this.#found.keys()].sort((a, b) => b.length - a.length)) {
      if (value.length >= SHORTEST) result = result.replaceAll(value, this.#name('', value))
    }
    return result.replace(UUID, (id) => (this.#kept.has(id) ? id : this.#name('id', id)))
  }

  /** New in the step that it is first seen in, and later on called after that. */
  #name(kind, value) {
    if (!this.#found.has(value)) this.#found.set(value, this.#first(kind, value))
    const { prefix, what, step } = this.#found.get(value)
    return step === this.#step ? `${prefix}<new ${what}>` : `<${what} of "${step}">`
  }

  #first(kind, value) {
    const others = [...this.#found.values()].filter((other) => other.step === this.#step && other.kind === kind).length
    const prefix = value.match(/^ory_[a-z]+_/)?.[0] ?? ''
    return { prefix, kind, what: others > 0 ? `${kind} ${others + 1}` : kind, step: this.#step }
  }
}
