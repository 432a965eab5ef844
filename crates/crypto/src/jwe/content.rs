//! Authenticated encryption of the content (RFC 7518 §5). A key encrypts one content only, so that a random nonce is
//! enough.

use aws_lc_rs::aead::{self, AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    AES_128, AES_256, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{cipher, hmac, rand};
use sluice_primitives::secret::same_bytes;
use zeroize::Zeroizing;

use super::ContentEncryption;

/// The tag of Galois counter mode, in bytes.
const GCM_TAG: usize = 16;

/// An encrypted content.
pub(super) struct Sealed {
    pub(super) iv: Vec<u8>,
    pub(super) ciphertext: Vec<u8>,
    pub(super) tag: Vec<u8>,
}

/// A random key for one content.
pub(super) fn random_key(encryption: ContentEncryption) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
    let mut key = Zeroizing::new(vec![0; encryption.key_length()]);
    rand::fill(&mut key)?;
    Ok(key)
}

/// Encrypts `content` and authenticates it together with `header`.
pub(super) fn seal(
    encryption: ContentEncryption,
    key: &[u8],
    header: &[u8],
    content: &[u8],
) -> Result<Sealed, Unspecified> {
    match Algorithm::of(encryption) {
        Algorithm::Gcm(algorithm) => seal_gcm(algorithm, key, header, content),
        Algorithm::Cbc(cbc) => cbc.seal(key, header, content),
    }
}

/// Decrypts a content. Its tag is checked before anything is decrypted; whatever is wrong, the error is the same.
pub(super) fn open(
    encryption: ContentEncryption,
    key: &[u8],
    header: &[u8],
    sealed: &Sealed,
) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
    match Algorithm::of(encryption) {
        Algorithm::Gcm(algorithm) => open_gcm(algorithm, key, header, sealed),
        Algorithm::Cbc(cbc) => cbc.open(key, header, sealed),
    }
}

enum Algorithm {
    Gcm(&'static aead::Algorithm),
    Cbc(CbcHmac),
}

impl Algorithm {
    const fn of(encryption: ContentEncryption) -> Self {
        match encryption {
            ContentEncryption::A128Gcm => Self::Gcm(&AES_128_GCM),
            ContentEncryption::A256Gcm => Self::Gcm(&AES_256_GCM),
            ContentEncryption::A128CbcHs256 => {
                Self::Cbc(CbcHmac { half: 16, cipher: &AES_128, mac: hmac::HMAC_SHA256 })
            }
            ContentEncryption::A256CbcHs512 => {
                Self::Cbc(CbcHmac { half: 32, cipher: &AES_256, mac: hmac::HMAC_SHA512 })
            }
        }
    }
}

fn seal_gcm(
    algorithm: &'static aead::Algorithm,
    key: &[u8],
    header: &[u8],
    content: &[u8],
) -> Result<Sealed, Unspecified> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key)?);
    let mut iv = [0; NONCE_LEN];
    rand::fill(&mut iv)?;
    let mut ciphertext = content.to_vec();
    let nonce = Nonce::assume_unique_for_key(iv);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(header), &mut ciphertext)?;
    Ok(Sealed { iv: iv.to_vec(), ciphertext, tag: tag.as_ref().to_vec() })
}

fn open_gcm(
    algorithm: &'static aead::Algorithm,
    key: &[u8],
    header: &[u8],
    sealed: &Sealed,
) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
    // A shorter tag would be easier to forge.
    if sealed.tag.len() != GCM_TAG {
        return Err(Unspecified);
    }
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key)?);
    let nonce = Nonce::try_assume_unique_for_key(&sealed.iv)?;
    let mut content = Zeroizing::new([sealed.ciphertext.as_slice(), &sealed.tag].concat());
    let length = key.open_in_place(nonce, Aad::from(header), &mut content)?.len();
    content.truncate(length);
    Ok(content)
}

/// Cipher block chaining, then HMAC (RFC 7518 §5.2.2). The key is two halves: the one of the MAC comes first.
struct CbcHmac {
    /// The length of each half of the key, and of the tag, in bytes.
    half: usize,
    cipher: &'static cipher::Algorithm,
    mac: hmac::Algorithm,
}

impl CbcHmac {
    fn seal(&self, key: &[u8], header: &[u8], content: &[u8]) -> Result<Sealed, Unspecified> {
        let (mac_key, cipher_key) = self.halves(key)?;
        let mut ciphertext = content.to_vec();
        let cipher = PaddedBlockEncryptingKey::cbc_pkcs7(UnboundCipherKey::new(self.cipher, cipher_key)?)?;
        let context = cipher.encrypt(&mut ciphertext)?;
        let iv = <&[u8]>::try_from(&context)?.to_vec();
        let tag = self.tag(mac_key, [header, &iv, &ciphertext])?;
        Ok(Sealed { iv, ciphertext, tag })
    }

    fn open(&self, key: &[u8], header: &[u8], sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
        let (mac_key, cipher_key) = self.halves(key)?;
        let tag = self.tag(mac_key, [header, &sealed.iv, &sealed.ciphertext])?;
        if !same_bytes(&tag, &sealed.tag) {
            return Err(Unspecified);
        }
        let iv = <[u8; cipher::AES_CBC_IV_LEN]>::try_from(sealed.iv.as_slice()).map_err(|_| Unspecified)?;
        let cipher = PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(self.cipher, cipher_key)?)?;
        let mut content = Zeroizing::new(sealed.ciphertext.clone());
        let context = DecryptionContext::Iv128(FixedLength::from(iv));
        let length = cipher.decrypt(&mut content, context)?.len();
        content.truncate(length);
        Ok(content)
    }

    fn halves<'a>(&self, key: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Unspecified> {
        key.split_at_checked(self.half).filter(|(_, cipher)| cipher.len() == self.half).ok_or(Unspecified)
    }

    /// The MAC of header, initialisation vector, ciphertext and the length of the header in bits, cut in half.
    fn tag(&self, key: &[u8], [header, iv, ciphertext]: [&[u8]; 3]) -> Result<Vec<u8>, Unspecified> {
        let bits = u64::try_from(header.len()).map_err(|_| Unspecified)?.saturating_mul(8).to_be_bytes();
        let mut context = hmac::Context::with_key(&hmac::Key::new(self.mac, key));
        for part in [header, iv, ciphertext, &bits] {
            context.update(part);
        }
        context.sign().as_ref().get(..self.half).map(<[u8]>::to_vec).ok_or(Unspecified)
    }
}
