// Envoy with deploy/envoy, over gRPC and over HTTP.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { startEnvoy } from '../support/proxies.js'
import { checks, MOUNTS } from './checks.js'
import { setUp, TOKENS } from './given.js'

// Envoy takes a method with small letters for none, and keeps what an application says that does not upgrade to itself.
const options = { smallLetters: 400, keepsTokens: true, refusal: '\r\n\r\n' }

checks('envoy', startEnvoy, options)
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }), options)

for (const file of ['envoy.yaml', 'envoy-http.yaml']) {
  describe(`${file} and what it does by itself`, () => {
    const { check, ask } = setUp(file, (ports) => startEnvoy({ ...ports, file }))
    const { token } = TOKENS.good

    check('an answer that takes long comes through', async () => {
      assert.equal((await ask('/orders/late', { token })).status, 200)
    })

    check('nobody asks the application for another method than was judged', async () => {
      const headers = {}
      for (const sign of '-.~') {
        for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) headers[name.replaceAll('-', sign)] = 'DELETE'
        for (const name of ['X-Original-URL', 'X-Rewrite-URL', ...MOUNTS]) headers[name.replaceAll('-', sign)] = '/DELETE'
      }
      const { seen, text } = await ask('/orders/7', { token, headers })
      assert.ok(seen, text)
      assert.deepEqual(seen.headers.filter(([, value]) => value.includes('DELETE')), [])
    })
  })
}
