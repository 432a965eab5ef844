#!/usr/bin/env node
// Revokes tokens at one server, and tells how long after the answer each gateway still let them pass.
//
//   revoke.js PUBLIC ADMIN ROUNDS NAME=GATEWAY…
//
// P99_MS, if it is set, is in how many milliseconds each gateway must refuse 99 of 100 tokens: it fails otherwise.
// A gateway is asked without a pause until it refuses; what counts is when its refusal was there. So a figure holds one answer of the
// gateway (under a millisecond) and the time until it was free to ask.
import http from 'node:http'

const [issuer, admin, rounds, ...gateways] = process.argv.slice(2)
const GIVE_UP_AFTER_MS = 30_000
const agent = new http.Agent({ keepAlive: true })

const client = await register()
const late = new Map(gateways.map((gateway) => [gateway.slice(0, gateway.indexOf('=')), []]))
for (let round = 0; round < Number(rounds); round += 1) await revokeOne()
for (const [name, times] of late) {
  times.sort((one, other) => one - other)
  const quantile = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(1).padStart(7)
  console.log(`${name.padEnd(36)} ${times.length} revocations  p50 ${quantile(0.5)} ms  p99 ${quantile(0.99)} ms  max ${quantile(1)} ms`)
  const permitted = Number(process.env.P99_MS ?? Infinity)
  if (!(Number(quantile(0.99)) <= permitted)) {
    console.error(`${name}: p99 is beyond ${permitted} ms`)
    process.exitCode = 1
  }
}
agent.destroy()

async function revokeOne() {
  const token = await mint()
  for (const gateway of gateways) {
    const status = await ask(gateway, token)
    if (status !== 200) throw new Error(`${gateway} answers ${status} before the token is revoked`)
  }
  const revoked = await send('POST', new URL('oauth2/revoke', issuer), { ...client, token })
  if (revoked.status !== 200) throw new Error(`revocation: ${revoked.status} ${revoked.text}`)
  const since = performance.now()
  await Promise.all(gateways.map(async (gateway) => {
    while ((await ask(gateway, token)) === 200) {
      if (performance.now() - since > GIVE_UP_AFTER_MS) throw new Error(`${gateway} goes on to accept it`)
    }
    late.get(gateway.slice(0, gateway.indexOf('='))).push(performance.now() - since)
  }))
}

// 200 or 401; anything else is no verdict about the token.
async function ask(gateway, token) {
  const { status } = await send('GET', gateway.slice(gateway.indexOf('=') + 1), null, { authorization: `Bearer ${token}` })
  if (status !== 200 && status !== 401) throw new Error(`${gateway} answers ${status}`)
  return status
}

async function register() {
  const metadata = { grant_types: ['client_credentials'], scope: 'orders.read', token_endpoint_auth_method: 'client_secret_post' }
  const { text } = await send('POST', `${admin}/admin/clients`, JSON.stringify(metadata), { 'content-type': 'application/json' })
  const { client_id, client_secret } = JSON.parse(text)
  return { client_id, client_secret }
}

async function mint() {
  const form = { ...client, grant_type: 'client_credentials', scope: 'orders.read' }
  const { text } = await send('POST', new URL('oauth2/token', issuer), form)
  return JSON.parse(text).access_token
}

function send(method, url, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const form = body && typeof body === 'object' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
    const request = http.request(url, { method, agent, headers: { ...form, ...headers } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => (text += part)).on('end', () => resolve({ status: answer.statusCode, text })).on('error', reject)
    })
    request.on('error', reject).end(body && typeof body === 'object' ? new URLSearchParams(body).toString() : body)
  })
}
