// How the server under test is configured for the interop suites: everything that real clients can use is on.

import { AFTER_DEVICE } from './agent.js'

/** `loginApp` is where people are sent to log in, to consent, to leave, and to type the code of a device. */
export function interopEnv(loginApp) {
  return {
    URLS_LOGIN: `${loginApp}/login`,
    URLS_CONSENT: `${loginApp}/consent`,
    URLS_LOGOUT: `${loginApp}/logout`,
    URLS_DEVICE_VERIFICATION: `${loginApp}/device`,
    URLS_DEVICE_SUCCESS: AFTER_DEVICE,
    OAUTH2_DEVICE_AUTHORIZATION_TOKEN_POLLING_INTERVAL: '1s',
    OAUTH2_REQUEST_URIS_ENABLED: 'true',
    OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED: 'true',
    OIDC_SUBJECT_IDENTIFIERS_SUPPORTED_TYPES: 'public,pairwise',
    OIDC_SUBJECT_IDENTIFIERS_PAIRWISE_SALT: 'a salt for pairwise subjects',
  }
}
