// A browser without a screen, and a login and consent app without pages: follows redirects with a cookie jar and
// answers every challenge through the admin API.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'

export const ISSUER = process.env.SLUICE_ISSUER
export const ADMIN = process.env.SLUICE_ADMIN_URL
/** Nothing listens here: the agent stops when it is sent there. */
export const CALLBACK = 'http://127.0.0.1:9/callback'
/** Of a native application, at the port that it got. */
export const NATIVE_CALLBACK = 'http://localhost:9/callback'
export const AFTER_LOGOUT = 'http://127.0.0.1:9/signed-out'
export const AFTER_DEVICE = 'http://127.0.0.1:9/device-signed-in'
const ENDS = [CALLBACK, NATIVE_CALLBACK, AFTER_LOGOUT, AFTER_DEVICE]

const MOST_HOPS = 12

export class Agent {
  #cookies = new Map()

  constructor(decisions = {}) {
    this.decisions = decisions
  }

  async get(url) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  /**
   * Follows redirects from `url` and answers challenges until it is sent to the callback, given as a URL, or to a page
   * that is not a redirect, given as `{ status, body }`.
   */
  async walk(url, decisions = this.decisions) {
    let next = new URL(url)
    for (let hop = 0; hop < MOST_HOPS; hop += 1) {
      const response = await this.get(next)
      const location = response.headers.get('location')
      if (!location) return { status: response.status, body: await response.text() }
      next = new URL(location, next)
      if (ENDS.some((end) => next.href.startsWith(end))) return next
      next = (await this.#answer(next, decisions)) ?? next
    }
    throw new Error(`still redirected after ${MOST_HOPS} hops: ${next.origin}${next.pathname}`)
  }

  async #answer(url, decisions) {
    const typed = url.searchParams.get('device_challenge')
    if (typed) return new URL(await typeCode(typed, url.searchParams.get('user_code')))
    for (const kind of ['login', 'consent', 'logout']) {
      const challenge = url.searchParams.get(`${kind}_challenge`)
      if (challenge) return new URL(await decide(kind, challenge, decisions[kind] ?? {}))
    }
  }

  #keep(line) {
    const [pair, ...attributes] = line.split(';').map((part) => part.trim())
    const name = pair.slice(0, pair.indexOf('='))
    const gone = attributes.some((attribute) => {
      const [key, value] = attribute.split('=')
      if (/^max-age$/i.test(key)) return Number(value) <= 0
      return /^expires$/i.test(key) && Date.parse(value) <= Date.now()
    })
    if (gone) this.#cookies.delete(name)
    else this.#cookies.set(name, pair.slice(pair.indexOf('=') + 1))
  }
}

/** What the page for devices does with the code that a person typed. */
async function typeCode(challenge, code) {
  const query = `?device_challenge=${encodeURIComponent(challenge)}`
  const accepted = await admin('PUT', `/admin/oauth2/auth/requests/device/accept${query}`, { user_code: code })
  return accepted.redirect_to
}

/** What the login and consent app does: reads the request, accepts or rejects it, gives where to go next. */
async function decide(kind, challenge, decision) {
  const at = `/admin/oauth2/auth/requests/${kind}`
  const query = `?${kind}_challenge=${encodeURIComponent(challenge)}`
  const request = await admin('GET', at + query)
  decision.seen?.(request)
  if (decision.reject) return (await admin('PUT', `${at}/reject${query}`, decision.reject)).redirect_to
  const body = { login: loginBody, consent: consentBody, logout: () => undefined }[kind](request, decision)
  return (await admin('PUT', `${at}/accept${query}`, body)).redirect_to
}

function loginBody(request, { seen, ...decision }) {
  return { subject: request.skip ? request.subject : 'alice', ...decision }
}

function consentBody(request, { seen, ...decision }) {
  return {
    grant_scope: request.requested_scope,
    grant_access_token_audience: request.requested_access_token_audience,
    ...decision,
  }
}

/** One call of the admin API, JSON in and out; anything but 2xx is a failure. */
export async function admin(method, path, body) {
  const response = await fetch(ADMIN + path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  assert.ok(response.ok, `${method} ${path.split('?')[0]} answered ${response.status}: ${text}`)
  return text ? JSON.parse(text) : undefined
}

/** Registers a client that may do everything these tests do; `metadata` is added. */
export function createClient(metadata = {}) {
  return admin('POST', '/admin/clients', {
    client_name: `interop ${randomUUID()}`,
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    response_types: ['code'],
    scope: 'openid offline_access profile',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [AFTER_LOGOUT],
    token_endpoint_auth_method: 'client_secret_basic',
    ...metadata,
  })
}

export async function introspect(token) {
  const response = await fetch(`${ADMIN}/admin/oauth2/introspect`, { method: 'POST', body: new URLSearchParams({ token }) })
  assert.equal(response.status, 200)
  return response.json()
}
