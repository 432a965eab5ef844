// deploy/envoy, over gRPC and over HTTP, by what stands in for Envoy.
import { startEnvoy } from '../support/proxies.js'
import { checks } from './checks.js'

checks('envoy', startEnvoy)
// Over HTTP Envoy says of every request that it has no body.
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }), { tellsOf: [] })
