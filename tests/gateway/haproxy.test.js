// Debian's HAProxy with deploy/haproxy.
import { startHaproxy } from '../support/proxies.js'
import { checks } from './checks.js'

checks('haproxy', startHaproxy)
