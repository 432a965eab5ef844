// Debian's nginx with deploy/nginx: as it is shipped, and with a second Sluice that is down.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { startNginx } from '../support/proxies.js'
import { checks } from './checks.js'
import { setUp, TOKENS } from './given.js'

// nginx takes a method with small letters for none.
checks('nginx', startNginx, { smallLetters: 400 })

describe('nginx that asks one Sluice after the other', () => {
  const { running, check, ask } = setUp('nginx that asks one Sluice after the other', (ports) => startNginx({ ...ports, change: withOneThatIsDown }))

  check('what the second says counts', async () => {
    const { token } = TOKENS.good
    await ask('/rare', { token })
    const before = running.echo.count()
    // Every other question goes to the first of them first.
    for (let turn = 0; turn < 4; turn++) {
      const { status, headers } = await ask('/rare', { token })
      assert.deepEqual([status, Number(headers['retry-after']) > 0], [429, true])
      assert.equal((await ask('//orders/7', { token })).status, 400)
      assert.equal((await ask('/orders/7')).status, 401)
    }
    assert.equal(running.echo.count(), before)
  })
})

/** Nothing listens on the port 9. */
function withOneThatIsDown(text) {
  const upstream = /upstream sluice \{/
  assert.match(text, upstream)
  return text.replace(upstream, '$&\n    server 127.0.0.1:9 max_fails=0;')
}
