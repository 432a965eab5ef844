// What of a response stands in a transcript: status, the headers that clients look at, and the body.
import { address, normal, parameters } from './normal.js'

const HEADERS = [
  'content-type', 'cache-control', 'pragma', 'www-authenticate', 'x-total-count', 'allow', 'access-control-allow-origin',
  'access-control-allow-methods', 'access-control-allow-headers', 'access-control-allow-credentials', 'access-control-expose-headers',
  'access-control-max-age',
]
/** Cookies of sessions; those that bind a flow to a browser are everybody's own. */
const SESSION_COOKIE = /^ory_hydra_session/

/** The part of `response`, whose body is `body`, that is compared. */
export function recorded(names, response, body) {
  // The body first: what is made up has better names there.
  const content = readable(names, response.headers.get('content-type') ?? '', body)
  const answer = { status: response.status, ...headers(names, response) }
  return content === undefined ? answer : { ...answer, body: content }
}

function headers(names, { status, headers: all }) {
  const found = {}
  for (const name of HEADERS) if (all.has(name)) found[name] = headerValue(names, name, all.get(name))
  // Of a redirect nobody reads the page.
  if (status >= 300 && status < 400) delete found['content-type']
  if (all.has('location')) found.location = address(names, all.get('location'))
  if (all.has('link')) found.link = links(names, all.get('link'))
  const cookies = all.getSetCookie().filter((line) => SESSION_COOKIE.test(line)).map(cookie)
  if (cookies.length > 0) found['set-cookie'] = cookies
  return found
}

function headerValue(names, name, value) {
  if (name === 'www-authenticate') return names.replaced(value).replace(/error_(description|hint|debug)="[^"]*"/g, 'error_$1="<sentence>"')
  if (name === 'content-type') return value.split(';')[0].toLowerCase()
  const list = name.startsWith('access-control-allow') || name === 'access-control-expose-headers' || name === 'allow'
  return list ? value.split(/, */).map((item) => item.toLowerCase()).sort().join(', ') : value
}

/** The addresses of a `Link` header by their relation. */
function links(names, value) {
  const found = {}
  for (const [, target, relation] of value.matchAll(/<([^>]*)>; *rel="(\w+)"/g)) found[relation] = address(names, target)
  return found
}

/** A cookie without its value. With --dev Hydra's are called so, too. */
function cookie(line) {
  const [pair, ...attributes] = line.split(/; */)
  const kept = attributes.filter((attribute) => !/^expires=/i.test(attribute)).map((attribute) => attribute.toLowerCase())
  const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
  return [`${name.replace(/_dev$/, '')}=${value === '' ? '' : '<cookie>'}`, ...kept.sort()].join('; ')
}

function readable(names, type, body) {
  if (body === '') return undefined
  if (/json/.test(type)) return json(names, body)
  if (/application\/jwt/.test(type)) return normal(names, body, 'jwt')
  if (/<iframe/i.test(body)) return { frames: frames(names, body) }
  if (/<form/i.test(body)) return form(names, body)
  return '<text>'
}

function json(names, body) {
  try {
    return normal(names, JSON.parse(body))
  } catch {
    return '<broken JSON>'
  }
}

/** The addresses that a page has in frames. */
function frames(names, page) {
  return [...page.matchAll(/<iframe\b[^>]*>/gi)].map(([tag]) => address(names, attribute(tag, 'src')))
}

function attribute(tag, name) {
  const raw = tag.match(new RegExp(`\\s${name}="([^"]*)"`, 'i'))?.[1]
  return raw?.replace(/&#(x?)([\da-f]+);/gi, (_, hex, code) => String.fromCodePoint(parseInt(code, hex ? 16 : 10))).replaceAll('&amp;', '&')
}

/** The form that a page posts by itself. */
function form(names, page) {
  const inputs = [...page.matchAll(/<input\b[^>]*>/gi)].map(([tag]) => [attribute(tag, 'name'), attribute(tag, 'value') ?? ''])
  const [tag] = page.match(/<form\b[^>]*>/i)
  const named = inputs.filter(([name]) => name !== undefined)
  return { form: address(names, attribute(tag, 'action')), method: attribute(tag, 'method')?.toLowerCase(), inputs: parameters(names, named) }
}
