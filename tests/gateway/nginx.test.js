// Debian's nginx with deploy/nginx.
import { startNginx } from '../support/proxies.js'
import { checks } from './checks.js'

// nginx takes a method with small letters for none.
checks('nginx', startNginx, { smallLetters: 400 })
