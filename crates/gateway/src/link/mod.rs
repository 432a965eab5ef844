//! Keys and revocations for a gateway in a process of its own.
