// deploy/envoy, over gRPC and over HTTP, by what stands in for Envoy.
import { startEnvoy } from '../support/proxies.js'
import { checks } from './checks.js'

checks('envoy', startEnvoy, { keepsTokens: true })
// Over HTTP Envoy says of every request that it has no body, and takes a 501 for a Sluice that cannot be asked.
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }), { tellsOf: [], smallLetters: 502, keepsTokens: true })
