//! Integration tests of `sluice-crypto`: vectors of the RFCs, other implementations as oracles, properties.

#[cfg(test)]
mod certificate;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod credential;
#[cfg(test)]
mod foreign_hash;
#[cfg(test)]
mod foreign_vectors;
#[cfg(test)]
mod hash_pool;
#[cfg(test)]
mod jwe;
#[cfg(test)]
mod jwe_attacks;
#[cfg(test)]
mod jwk;
#[cfg(test)]
mod jws;
#[cfg(test)]
mod jws_attacks;
#[cfg(test)]
mod jws_embedded;
#[cfg(test)]
mod jws_oracle;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod no_memory;
#[cfg(test)]
mod paseto;
#[cfg(test)]
mod password_hash;
#[cfg(test)]
mod secret_hash;
#[cfg(test)]
mod totp;
