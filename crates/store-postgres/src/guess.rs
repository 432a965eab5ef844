//! Guess: a batch is inserted on the guess that nothing of it is there. To look for each row first costs the database a tenth of the insert
//! or more, and is seldom of use; a wrong guess costs the whole statement, and a line of the server's log.

use crate::error::Failure;

/// With fewer rows a guess would save little, and be wrong for the same row: a quiet server's log shall say nothing.
const FEWEST_ROWS: usize = 16;
/// So many batches are looked for after a wrong guess,
const FIRST_PAUSE: u32 = 32;
/// and at most so many, where guess after guess is wrong.
const LONGEST_PAUSE: u32 = 4096;

/// Whether the next batch is inserted on a guess. Of one lane.
pub(crate) struct Guess {
    /// Batches to be looked for before the next guess.
    left: u32,
    /// How many it will be after the next wrong one.
    pause: u32,
    /// Right guesses since the last wrong one.
    right: u32,
}

impl Default for Guess {
    fn default() -> Self {
        Self { left: 0, pause: FIRST_PAUSE, right: 0 }
    }
}

impl Guess {
    /// Whether a batch of so many rows is to be inserted on a guess. Asked once for each batch.
    pub(crate) fn is_made(&mut self, rows: usize) -> bool {
        if rows < FEWEST_ROWS {
            return false;
        }
        let is_made = self.left == 0;
        self.left = self.left.saturating_sub(1);
        is_made
    }

    /// Takes what became of a guess: true if all is written, false if one of these constraints says that a row is there. Nothing is written
    /// then.
    ///
    /// # Errors
    /// Any other failure.
    pub(crate) fn turned_out<T>(
        &mut self,
        done: Result<T, Failure>,
        unique: &[&str],
    ) -> Result<bool, Failure> {
        match done {
            Ok(_) => {
                self.was_right();
                Ok(true)
            }
            Err(failure) if unique.iter().any(|constraint| failure.is_duplicate_in(constraint)) => {
                self.was_wrong();
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    fn was_right(&mut self) {
        self.right = self.right.saturating_add(1);
        if self.right >= self.pause {
            self.pause = FIRST_PAUSE;
        }
    }

    fn was_wrong(&mut self) {
        self.left = self.pause;
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        self.right = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches that are looked for until the next guess.
    fn looked_for(guess: &mut Guess) -> usize {
        std::iter::repeat_with(|| guess.is_made(100)).take_while(|is_made| !is_made).count()
    }

    #[test]
    fn a_guess_is_made_until_one_is_wrong_and_again_after_a_pause_that_doubles() {
        let mut guess = Guess::default();
        assert_eq!(looked_for(&mut guess), 0);
        let pauses = std::iter::repeat_with(|| {
            guess.was_wrong();
            looked_for(&mut guess)
        });
        assert_eq!(pauses.take(9).collect::<Vec<_>>(), [32, 64, 128, 256, 512, 1024, 2048, 4096, 4096]);
    }

    #[test]
    fn as_many_right_guesses_as_the_pause_has_batches_make_it_short_again() {
        let mut guess = Guess::default();
        guess.was_wrong();
        guess.was_wrong();
        (0..127).for_each(|_| guess.was_right());
        assert_eq!(guess.pause, 128);
        guess.was_right();
        assert_eq!(guess.pause, FIRST_PAUSE);
    }

    #[test]
    fn few_rows_are_always_looked_for_and_count_for_nothing() {
        let mut guess = Guess::default();
        guess.was_wrong();
        assert!((0..100).all(|_| !guess.is_made(15)));
        assert_eq!(looked_for(&mut guess), 32);
    }

    #[test]
    fn what_is_no_duplicate_is_nobodys_guess() {
        let mut guess = Guess::default();
        assert!(guess.turned_out(Ok(()), &["a_pkey"]).unwrap());
        assert!(guess.turned_out::<()>(Err(Failure::Closed), &["a_pkey"]).is_err());
        assert_eq!(looked_for(&mut guess), 0);
    }
}
