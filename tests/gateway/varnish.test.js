// Debian's Varnish with deploy/varnish.
import { startVarnish } from '../support/proxies.js'
import { checks } from './checks.js'

await checks('varnish', startVarnish, { byRoute: false })
