// What is remembered of users, how it is listed and ended, and logouts.
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AFTER_LOGOUT, CONSENTS, LOGINS, REQUESTS, authorization, challengeOf, client, decide, tokens } from './given.js'

export async function consents(t) {
  const [one, two] = [await client(t, { client_id: 'my-consents-2' }), await client(t, { client_id: 'my-consents-1' })]
  const login = { subject: 'my-consenting-user', remember: true }
  const first = await tokens(t, { of: one, login, consent: { remember: true, remember_for: 3600, handled_at: '2020-01-02T03:04:05Z', context: { a: 1 }, session: { access_token: { b: 2 }, id_token: { c: 3 } } } })
  await sleep(1100) // Hydra lists the newest first, to the second
  const second = await tokens(t, { of: two, login, consent: { remember: true, remember_for: 0 } })
  await tokens(t, { of: two, login: { subject: 'my-other-consenting-user' }, consent: { remember: false } })
  const list = (step, query) => t.admin(step, `GET ${CONSENTS}`, { query })
  const end = (step, query) => t.admin(step, `DELETE ${CONSENTS}`, { query })
  const introspect = (step, token) => t.admin(step, 'POST /admin/oauth2/introspect', { form: { token } })
  const listed = await list('of a user', { subject: 'my-consenting-user' })
  await list('a page', { subject: 'my-consenting-user', page_size: 1 })
  await list('of a user who remembers nothing', { subject: 'my-other-consenting-user' })
  await list('of a session', { subject: 'my-consenting-user', login_session_id: 'my-session' })
  await list('of nobody', { subject: 'my-nobody' })
  await list('without a subject', {})
  await end('without anything', {})
  await end('a subject alone', { subject: 'my-consenting-user' })
  await end('a client alone', { client: one.client_id })
  await introspect('the first before', first.access_token)
  await end('of one client', { subject: 'my-consenting-user', client: one.client_id })
  await introspect('the first after', first.access_token)
  await introspect('the second after', second.access_token)
  await list('what is left', { subject: 'my-consenting-user' })
  await end('by its id', { consent_request_id: listed.json?.[0]?.consent_request?.consent_request_id ?? 'my-missing-id' })
  await end('of all clients', { subject: 'my-consenting-user', all: true })
  await introspect('the second after all', second.access_token)
  await list('nothing is left', { subject: 'my-consenting-user' })
  await end('all and a client', { subject: 'my-consenting-user', client: one.client_id, all: true })
  await end('of all clients of nobody', { subject: 'my-nobody', all: true })
}

export async function logins(t) {
  const of = await client(t)
  const sessionOf = async (subject) => {
    const browser = t.browser()
    return { browser, issued: await tokens(t, { browser, of, login: { subject, remember: true, remember_for: 3600 }, consent: { remember: true } }) }
  }
  const one = await sessionOf('my-leaving-user')
  const two = await sessionOf('my-leaving-user')
  const sid = JSON.parse(Buffer.from(one.issued.id_token.split('.')[1], 'base64url')).sid
  const end = (step, query) => t.admin(step, `DELETE ${LOGINS}`, { query })
  const silent = (step, { browser }) => browser.open(step, '/oauth2/auth', { query: authorization(of, { prompt: 'none' }) })
  await end('without anything', {})
  await end('of an unknown session', { sid: 'my-unknown-session' })
  await end('of one session', { sid })
  await silent('of one session: that one', one)
  await silent('of one session: the other', two)
  await end('of the user', { subject: 'my-leaving-user' })
  await silent('of the user: the other', two)
  await end('of nobody', { subject: 'my-nobody' })
}

export async function logout(t) {
  const front = { frontchannel_logout_uri: 'https://a.example.com/front', frontchannel_logout_session_required: true }
  const of = await client(t, front)
  const at = '/oauth2/sessions/logout'
  const user = async () => {
    const browser = t.browser()
    return { browser, issued: await tokens(t, { browser, of, login: { remember: true, remember_for: 3600 } }) }
  }
  const alice = await user()
  const asked = await alice.browser.open('with a hint', at, { query: { id_token_hint: alice.issued.id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 'my-logout-state' } })
  await t.admin('read the request', `GET ${REQUESTS}/logout`, { query: challengeOf('logout', asked.location) })
  const accepted = await decide(t, 'accept', 'logout', asked.location, {})
  await t.admin('read the request again', `GET ${REQUESTS}/logout`, { query: challengeOf('logout', asked.location) })
  await alice.browser.open('go on', accepted)
  await t.admin('go on: the access token', 'POST /admin/oauth2/introspect', { form: { token: alice.issued.access_token } })
  await alice.browser.open('go on again', accepted)
  await alice.browser.open('who is there now', '/oauth2/auth', { query: authorization(of, { prompt: 'none' }) })
  await alice.browser.open('with a hint, when nobody is there', at, { query: { id_token_hint: alice.issued.id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 'my-logout-state' } })
  const bob = await user()
  const plain = await bob.browser.open('without a hint', at)
  await t.admin('without a hint: the request', `GET ${REQUESTS}/logout`, { query: challengeOf('logout', plain.location) })
  await decide(t, 'without a hint: reject', 'logout', plain.location, { reject: { error: 'access_denied' } })
  await t.admin('without a hint: the request after that', `GET ${REQUESTS}/logout`, { query: challengeOf('logout', plain.location) })
  await bob.browser.open('still there', '/oauth2/auth', { query: authorization(of, { prompt: 'none' }) })
  const again = await bob.browser.open('without a hint again', at)
  await bob.browser.open('without a hint again: go on', await decide(t, 'without a hint again: accept', 'logout', again.location, {}))
  const carol = await user()
  const query = { id_token_hint: carol.issued.id_token }
  await carol.browser.open('to an address that is not registered', at, { query: { ...query, post_logout_redirect_uri: 'https://b.example.com/out' } })
  await carol.browser.open('an address without a hint', at, { query: { post_logout_redirect_uri: AFTER_LOGOUT } })
  await carol.browser.open('a state without an address', at, { query: { ...query, state: 'my-logout-state' } })
  await carol.browser.open('a broken hint', at, { query: { id_token_hint: 'my-hint' } })
  await carol.browser.open('by POST', at, { method: 'POST', form: query })
  await carol.browser.open('a wrong verifier', at, { query: { logout_verifier: 'my-wrong-verifier' } })
  await t.browser().open('when nobody is there', at)
  await t.browser().open('an address, when nobody is there', at, { query: { post_logout_redirect_uri: AFTER_LOGOUT } })
  await t.browser().open('the hint of another browser', at, { query: { ...query, post_logout_redirect_uri: AFTER_LOGOUT } })
}

/** What an application is told behind the browser's back. */
export async function backchannel(t) {
  const application = http.createServer(async (request, answer) => {
    let body = ''
    for await (const part of request) body += part
    answer.writeHead(200).end()
    application.emit('told', { path: request.url, type: request.headers['content-type'], form: Object.fromEntries(new URLSearchParams(body)) })
  })
  await once(application.listen(0, '127.0.0.1'), 'listening')
  try {
    const url = `http://127.0.0.1:${application.address().port}`
    const of = await client(t, { backchannel_logout_uri: `${url}/told`, backchannel_logout_session_required: true })
    const browser = t.browser()
    await tokens(t, { browser, of, login: { remember: true, remember_for: 3600 } })
    const told = once(application, 'told', { signal: AbortSignal.timeout(10_000) })
    const asked = await t.quietly(() => browser.open('', '/oauth2/sessions/logout'))
    await browser.open('go on', await t.quietly(() => decide(t, '', 'logout', asked.location, {})))
    const [notice] = await told
    t.note('the notice', notice)
  } finally {
    application.closeAllConnections()
    application.close()
  }
}
