// Debian's nginx with deploy/nginx.
import { startNginx } from '../support/proxies.js'
import { checks } from './checks.js'

checks('nginx', startNginx)
