"""Hydra's OpenAPI document: which operations there are, and whether an answer is one that it describes."""

import json
import os
from pathlib import Path

import jsonschema_rs

PUBLIC = os.environ["SLUICE_ISSUER"].rstrip("/")
ADMIN = os.environ["SLUICE_ADMIN_URL"]

# Verifiable credentials are the one path of the document that this server does not have.
EXCLUDED = {"POST /credentials"}

# Members that are sent though the document does not know them, by their schema. README.md says why.
UNDOCUMENTED = {
    "oAuth2Client": ["id_token_signed_response_alg", "client_id_issued_at"],
    "introspectedOAuth2Token": ["jti", "sid", "auth_time", "acr", "amr"],
}

# Answered with `{}` where the document has no body.
EMPTY = {"POST /oauth2/revoke"}

# Hydra sends null where a lifespan is not set; the document forgot `nullable`.
NULLABLE = {"NullDuration"}

# Where the document has `genericError`, Hydra answers `errorOAuth2`.
INSTEAD = {"#/components/schemas/genericError": "#/components/schemas/errorOAuth2"}

# Anything may be in these: the claims of a token, and Discovery, where a client ignores what it does not know.
OPEN = {"oidcUserInfo", "oidcConfiguration", "jsonWebKey"}

_document = json.loads((Path(__file__).parent / "hydra-api.json").read_text())


def operations():
    """Every operation but the excluded, as `GET /path/{id}`."""
    every = [f"{method.upper()} {path}" for path, methods in _document["paths"].items() for method in methods]
    return [operation for operation in every if operation not in EXCLUDED]


def corrected():
    """The document with what README.md says is wrong in it put right, for tools that read it themselves."""
    text = json.dumps(_document)
    for wrong, right in INSTEAD.items():
        text = text.replace(wrong, right)
    corrected = json.loads(text)
    for name in NULLABLE:
        corrected["components"]["schemas"][name]["nullable"] = True
    return corrected


def takes_json(operation):
    """Whether an operation has a body of JSON."""
    method, path = operation.split(" ")
    return "application/json" in _document["paths"][path][method.lower()].get("requestBody", {}).get("content", {})


def statuses(operation):
    """The statuses that the document has for an operation, without `default`."""
    return [int(status) for status in _responses(operation) if status != "default"]


def server(path):
    """Which port a path is on. Hydra has its version on the admin port only."""
    return ADMIN if path.startswith("/admin/") or path == "/version" else PUBLIC


def check(operation, response):
    """Fails unless the document describes this answer: its status, its type, its body, and no member besides."""
    responses = _responses(operation)
    described = responses.get(str(response.status_code), responses.get("default"))
    shown = f"{operation} answered {response.status_code} {response.text[:400]!r}"
    assert described is not None, f"{shown}, a status that the document does not have"
    content = _resolve(described).get("content")
    if content is None:
        nothing = b"{}" if operation in EMPTY else b""
        assert response.status_code == 302 or response.content == nothing, f"{shown}, a body where none is documented"
        return
    media_type = response.headers.get("content-type", "").split(";")[0]
    assert media_type in content, f"{shown} as {media_type!r}, not {list(content)}"
    problems = [f"{'/'.join(map(str, e.instance_path))}: {e.message}" for e in _errors(content[media_type], response)]
    assert not problems, f"{shown}, which is off schema: {problems}"
    if response.status_code >= 400:
        assert {"error", "redirect_to"} & set(response.json()), f"{shown}, an error without a name"


def _responses(operation):
    method, path = operation.split(" ")
    return _document["paths"][path][method.lower()]["responses"]


def _resolve(node):
    name = node.get("$ref", "").removeprefix("#/components/responses/")
    return _document["components"]["responses"][name] if name else node


def _errors(content, response):
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", **_closed(content["schema"]), "components": _components()}
    return jsonschema_rs.validator_for(schema, validate_formats=True).iter_errors(response.json())


def _components():
    schemas = {name: _closed(schema, name) for name, schema in _document["components"]["schemas"].items()}
    return {"schemas": schemas}


def _closed(schema, name=None):
    """An OpenAPI 3.0 schema as JSON Schema, in which an object has no members but the documented ones."""
    if "$ref" in schema:
        return {"allOf": [{"$ref": INSTEAD.get(schema["$ref"], schema["$ref"])}]}
    closed = dict(schema)
    if "properties" in schema:
        closed["properties"] = {member: _closed(value) for member, value in schema["properties"].items()}
        closed["properties"] |= {member: {} for member in UNDOCUMENTED.get(name, [])}
        if name not in OPEN:
            closed.setdefault("additionalProperties", False)
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    # A member that is not a schema: swagger's leftovers, such as `required` on a string.
    if schema.get("type") == "string":
        closed.pop("required", None)
    if closed.pop("nullable", False) or name in NULLABLE:
        closed["type"] = [closed["type"], "null"]
    return closed
