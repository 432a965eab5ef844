#!/usr/bin/env node
// Tokens and keys for tests/load/gateway.sh.
//
//   tokens.js sluice ISSUER ADMIN COUNT opaque|jwt    COUNT access tokens of one client, one on each line
//   tokens.js foreign FOLDER                          hs256.secret, es256.pem, es256.jwks, rs256.pem, rs256.jwks, and a token for each: hs256.token, …
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const AT_ONCE = 32

async function sluice([issuer, admin, count, strategy]) {
  const metadata = { grant_types: ['client_credentials'], scope: 'orders.read', token_endpoint_auth_method: 'client_secret_post', access_token_strategy: strategy }
  const client = await json(`${admin}/admin/clients`, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(metadata) })
  const form = { grant_type: 'client_credentials', scope: 'orders.read', client_id: client.client_id, client_secret: client.client_secret }
  const lines = []
  async function mint() {
    while (lines.length < Number(count)) {
      const place = lines.push('') - 1
      lines[place] = (await json(new URL('oauth2/token', issuer), { body: new URLSearchParams(form) })).access_token
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, mint))
  console.log(lines.join('\n'))
}

async function json(url, options) {
  const answer = await fetch(url, { method: 'POST', ...options })
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

function foreign([folder]) {
  const write = (name, text) => fs.writeFileSync(path.join(folder, name), text)
  const secret = crypto.randomBytes(32).toString('hex')
  write('hs256.secret', secret)
  write('hs256.token', signed('HS256', (data) => crypto.createHmac('sha256', secret).update(data).digest()))
  const kinds = { ES256: ['ec', { namedCurve: 'P-256' }], RS256: ['rsa', { modulusLength: 2048 }] }
  for (const [algorithm, [type, options]] of Object.entries(kinds)) {
    const { publicKey, privateKey } = crypto.generateKeyPairSync(type, options)
    const name = algorithm.toLowerCase()
    write(`${name}.pem`, publicKey.export({ type: 'spki', format: 'pem' }))
    write(`${name}.jwks`, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), alg: algorithm, use: 'sig' }] }))
    write(`${name}.token`, signed(algorithm, (data) => crypto.sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' })))
  }
}

function signed(alg, sign) {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'https://issuer.example', sub: 'alice', client_id: 'app', scope: 'orders.read', iat: now, exp: now + 86_400, jti: crypto.randomUUID() }
  const data = [{ alg, typ: 'at+jwt' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${data}.${sign(Buffer.from(data)).toString('base64url')}`
}

await { sluice, foreign }[process.argv[2]](process.argv.slice(3))
