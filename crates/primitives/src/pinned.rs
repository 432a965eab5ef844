//! A future in a box.

use std::pin::Pin;

/// What `make` makes, in a box: the box is there first, so that a future of some thousand bytes, most of which have no meaning before it
/// runs, is made in its place. `Box::pin` copies all of them, as what it is given has to be dropped should there be no room.
pub fn pinned<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let room = Box::new_uninit();
    Box::into_pin(Box::write(room, make()))
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use super::*;

    #[test]
    fn what_was_made_is_in_the_box() {
        let made: Pin<Box<Ready<String>>> = pinned(|| ready("made".to_owned()));
        assert_eq!((*made).clone().into_inner(), "made");
    }
}
