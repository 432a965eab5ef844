// Debian's Varnish with deploy/varnish: as it is shipped, and when it remembers verdicts.
import { startVarnish } from '../support/proxies.js'
import { checks } from './checks.js'

const options = { byRoute: false, anySign: false }
checks('varnish', startVarnish, options)
checks('varnish that remembers', (ports) => startVarnish({ ...ports, remember: '60s' }), { ...options, asksEachTime: false })
