"""Requests that Schemathesis makes up from the document, right ones and wrong ones: no answer is a fault or off schema."""

import functools

import schemathesis
from hypothesis import settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from document import EXCLUDED, corrected, server
from given import REQUESTS, Browser, bearer, client, credentials, registered

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 40

document = schemathesis.openapi.from_dict(corrected())
document.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
document.config.phases.coverage.enabled = False  # thousands of requests; examples and generated ones remain
for operation in EXCLUDED:
    method, path = operation.split(" ")
    document = document.exclude(method=method, path=path)


@functools.cache
def one_client(purpose):
    """A client for one purpose: what is changed by generated requests cannot make requests of its own."""
    return client()


@functools.cache
def one_challenge(kind):
    """A challenge, which can be answered any number of times until a browser comes back with the answer."""
    browser = Browser()
    return {"login": browser.login_challenge, "consent": browser.consent_challenge}[kind]()


@functools.cache
def one_token():
    """An access token of a user."""
    return Browser().tokens()["access_token"]


def of_client():
    """A generated body for a client that there is."""
    return {"path_parameters": {"id": one_client("changed")["client_id"]}}


def of_registered():
    """A generated body for a client that has registered itself: a new one, as a change replaces its token."""
    made = registered()
    return {"path_parameters": {"id": made["client_id"]}, **bearer(made["registration_access_token"])}


def of_challenge(kind):
    """A generated body for a challenge that there is."""
    return {"query": {f"{kind}_challenge": one_challenge(kind)}}


def as_client():
    """A generated form from a client that there is: nobody else gets past authentication."""
    return {"auth": credentials(one_client("asking"))}


# Where a generated request would be refused before its body is looked at, what it says is put in its place.
THERE_IS = {
    "PUT /admin/clients/{id}": of_client,
    "PATCH /admin/clients/{id}": of_client,
    "PUT /admin/clients/{id}/lifespans": of_client,
    "PUT /oauth2/register/{id}": of_registered,
    f"PUT {REQUESTS}/login/accept": lambda: of_challenge("login"),
    f"PUT {REQUESTS}/login/reject": lambda: of_challenge("login"),
    f"PUT {REQUESTS}/consent/accept": lambda: of_challenge("consent"),
    f"PUT {REQUESTS}/consent/reject": lambda: of_challenge("consent"),
    "POST /oauth2/device/auth": as_client,
    "POST /oauth2/revoke": as_client,
    "POST /oauth2/token": as_client,
    # Without a token there is a challenge and no body (RFC 6750 §3.1), which the document does not have.
    "GET /userinfo": lambda: bearer(one_token()),
}


@document.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None)
def test_no_answer_to_a_generated_request_is_a_fault_or_off_schema(case):
    options = THERE_IS.get(f"{case.method.upper()} {case.path}", dict)()
    for part in ("path_parameters", "query"):
        setattr(case, part, options.pop(part, getattr(case, part)))
    case.call_and_validate(base_url=server(case.path), checks=CHECKS, allow_redirects=False, timeout=10, **options)
