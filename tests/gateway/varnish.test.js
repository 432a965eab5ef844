// Debian's Varnish with deploy/varnish: as it is shipped, and when it remembers verdicts.
import { startVarnish } from '../support/proxies.js'
import { checks } from './checks.js'

checks('varnish', startVarnish, { byRoute: false })
checks('varnish that remembers', (ports) => startVarnish({ ...ports, remember: '60s' }), { byRoute: false, asksEachTime: false })
