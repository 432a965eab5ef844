// Debian's Varnish with deploy/varnish: as it is shipped, and when it remembers verdicts.
import { startVarnish } from '../support/proxies.js'
import { checks } from './checks.js'

await checks('varnish', startVarnish, { byRoute: false })
await checks('varnish that remembers', (ports) => startVarnish({ ...ports, remember: '60s' }), { byRoute: false, asksEachTime: false })
