//! Randomness as an argument. [`OsRng`] in production, [`SeededRng`] where a test must repeat itself.

use parking_lot::Mutex;

/// A source of random bytes.
pub trait Rng: Send + Sync + 'static {
    /// Fills `bytes` with random data.
    fn fill(&self, bytes: &mut [u8]);
}

/// Draws `N` random bytes.
pub fn random_bytes<const N: usize>(rng: &dyn Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    bytes
}

/// The operating system's generator, through a per-thread buffer so that a draw is not a system call.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRng;

const BUFFER: usize = 1024;

thread_local! {
    static DRAWN: std::cell::RefCell<([u8; BUFFER], usize)> = const { std::cell::RefCell::new(([0; BUFFER], BUFFER)) };
}

impl Rng for OsRng {
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() > BUFFER / 4 {
            return fill_from_os(bytes);
        }
        DRAWN.with_borrow_mut(|(buffer, used)| {
            if *used + bytes.len() > BUFFER {
                fill_from_os(buffer);
                *used = 0;
            }
            if let Some(fresh) = buffer.get_mut(*used..*used + bytes.len()) {
                bytes.copy_from_slice(fresh);
                fresh.fill(0); // what was handed out is not kept
            }
            *used += bytes.len();
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system")]
#[expect(clippy::expect_used, reason = "without randomness nothing here is safe: there is no way on")]
fn fill_from_os(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system's random generator failed");
}

/// A generator that repeats itself for a seed: SplitMix64. For tests only, never for a key.
#[derive(Debug)]
pub struct SeededRng(Mutex<u64>);

impl SeededRng {
    /// A generator whose draws follow from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Rng for SeededRng {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock();
        for chunk in bytes.chunks_mut(8) {
            *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            for (byte, drawn) in chunk.iter_mut().zip(z.to_le_bytes()) {
                *byte = drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_of_the_operating_system_differ() {
        let (first, second) = (random_bytes::<32>(&OsRng), random_bytes::<32>(&OsRng));
        assert_ne!(first, second);
        assert_ne!(first, [0; 32]);
    }

    #[test]
    fn a_seed_repeats_its_draws() {
        assert_eq!(random_bytes::<20>(&SeededRng::new(7)), random_bytes::<20>(&SeededRng::new(7)));
        assert_ne!(random_bytes::<20>(&SeededRng::new(7)), random_bytes::<20>(&SeededRng::new(8)));
    }
}
