#!/usr/bin/env python3
"""A realm as JSON: one confidential client, one person. realm.py NAME shipped|none, the hash of passwords; the rest comes from the environment."""
import json
import os
import sys

HOUR = 3600
# One round: a login without the cost of a hash.
NO_HASH = "hashAlgorithm(pbkdf2-sha512) and hashIterations(1)"

env = os.environ
name, password_hash = sys.argv[1:]
# Keycloak introspects a token for those alone whom it is for.
audience = {
    "name": "audience",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-audience-mapper",
    "config": {"included.client.audience": env["CLIENT_ID"], "access.token.claim": "true", "introspection.token.claim": "true"},
}
client = {
    "clientId": env["CLIENT_ID"],
    "secret": env["CLIENT_SECRET"],
    "publicClient": False,
    "standardFlowEnabled": True,
    "serviceAccountsEnabled": True,
    "directAccessGrantsEnabled": False,
    "redirectUris": [env["REDIRECT_URI"]],
    "attributes": {"pkce.code.challenge.method": "S256"},
    "protocolMappers": [audience],
}
# Without a name and an address Keycloak asks for them at the first login.
person = {
    "username": env["USER_NAME"],
    "enabled": True,
    "emailVerified": True,
    "realmRoles": [f"default-roles-{name}"],
    "email": "bench@example.test",
    "firstName": "Bench",
    "lastName": "Bench",
    "credentials": [{"type": "password", "value": env["PASSWORD"], "temporary": False}],
}
realm = {
    "realm": name,
    "enabled": True,
    "sslRequired": "none",
    "defaultSignatureAlgorithm": env["ALGORITHM"],
    "accessTokenLifespan": HOUR,
    "ssoSessionIdleTimeout": 24 * HOUR,
    "ssoSessionMaxLifespan": 24 * HOUR,
    "clients": [client],
    "users": [person],
}
if password_hash == "none":
    realm["passwordPolicy"] = NO_HASH
print(json.dumps(realm))
