// An answer without what no two runs have in common: made-up values by name, times by their relation to now, addresses in parts.

const MOMENTS = new Set(['auth_time', 'client_id_issued_at', 'client_secret_expires_at', 'exp', 'iat', 'nbf', 'rat'])
const SPANS = new Set(['expires_in'])
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const JWT = /^ey[\w-]+\.ey[\w-]+\.[\w-]*$/
const MINUTE = 60
/** A run takes less, so what is not farther away is now. */
const NOW = 45
const LONG = 365 * 86_400

/** `value`, which stands at `key`, as a transcript has it. */
export function normal(names, value, key) {
  if (Array.isArray(value)) return (key === 'keys' ? sorted(value) : value).map((item) => normal(names, item, key))
  if (typeof value === 'string') return text(names, value, key)
  if (typeof value === 'number') return number(value, key)
  if (value === null || typeof value !== 'object') return value
  const members = Object.keys(value).sort()
  return Object.fromEntries(members.map((name) => [names.replaced(name), normal(names, value[name], name)]))
}

/** Keys in an order that does not depend on made-up names, or on the second in which they were made. */
function sorted(keys) {
  const place = (key) => JSON.stringify([key.kid?.startsWith('my-') ? key.kid : '', key.kty, key.alg])
  return keys.toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
}

function text(names, value, key) {
  if (JWT.test(value) && key !== 'id_token_hint') return jwt(names, value, key)
  const name = names.standIn(key, value)
  if (name !== undefined) return name
  if (RFC3339.test(value)) return time(value)
  if (/^https?:\/\/[^ ]*[?#]/.test(value)) return address(names, value)
  return names.replaced(value)
}

function number(value, key) {
  if (value > 0 && MOMENTS.has(key)) return moment(value)
  if (SPANS.has(key)) return `${Math.round(value / 10) * 10} s`
  return value
}

function time(value) {
  if (value.startsWith('0001-')) return value
  return moment(Date.parse(value) / 1000)
}

function moment(seconds) {
  const away = seconds - Date.now() / 1000
  if (Math.abs(away) <= NOW) return 'now'
  if (Math.abs(away) > LONG) return away < 0 ? 'long ago' : 'never'
  const minutes = Math.round(away / MINUTE)
  return minutes < 0 ? `${-minutes} min ago` : `in ${minutes} min`
}

/** A signed token: its name, what it says, and how. */
function jwt(names, value, key) {
  const [header, claims] = value.split('.').slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url')))
  return { token: names.standIn(key ?? 'jwt', value) ?? '<jwt>', header: normal(names, header), claims: normal(names, claims) }
}

/**
 * A URL in parts: parameters come in any order. Beside a verifier only it counts, at either server: what else is in the way back
 * from a page is the server's own business.
 */
export function address(names, value) {
  const url = new URL(value, 'relative://')
  const to = names.replaced(value.replace(/[?#].*$/s, ''))
  const verifiers = [...url.searchParams].filter(([name]) => name.endsWith('_verifier'))
  const query = parameters(names, verifiers.length > 0 ? verifiers : url.searchParams)
  const fragment = url.hash.includes('=') ? parameters(names, new URLSearchParams(url.hash.slice(1))) : url.hash || undefined
  return { to, ...(query && { query }), ...(fragment && { fragment }) }
}

/** Parameters by name; those that are there more than once as a list. */
export function parameters(names, pairs) {
  const found = {}
  for (const [name, value] of pairs) (found[name] ??= []).push(normal(names, numeric(name, value), name))
  const entries = Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return undefined
  return Object.fromEntries(entries.map(([name, values]) => [name, values.length === 1 ? values[0] : values]))
}

/** Parameters of a request: what tokens among them say was told where they came from. */
export function presented(names, pairs) {
  const found = {}
  for (const [name, value] of pairs) (found[name] ??= []).push(names.standIn(name, value) ?? names.replaced(value))
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, values.length === 1 ? values[0] : values]))
}

function numeric(name, value) {
  return SPANS.has(name) ? Number(value) : value
}
