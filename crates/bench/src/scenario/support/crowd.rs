//! Things that are made before anything is measured, many at a time.

use std::sync::Arc;

use futures_util::future::try_join_all;

use crate::driver::{Agent, Failure};
use crate::target::Target;

/// How many are made at a time.
const LANES: usize = 32;

/// An agent for what is done once. What it fails with says where, and why.
pub(crate) fn alone(target: &Target) -> Agent {
    Agent::new(0, Arc::clone(&target.endpoints), None).explaining()
}

/// Makes `count` things; the results are in their order.
///
/// # Errors
/// The first failure ends it.
pub(crate) async fn each<T>(
    target: &Target,
    count: usize,
    make: impl AsyncFn(&mut Agent, usize) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let lanes = (0..LANES.min(count)).map(async |lane| {
        let mut agent = Agent::new(lane, Arc::clone(&target.endpoints), None).explaining();
        let mut made = Vec::with_capacity(count / LANES + 1);
        for number in (lane..count).step_by(LANES) {
            made.push(make(&mut agent, number).await?);
        }
        Ok::<_, Failure>(made)
    });
    Ok(interleave(try_join_all(lanes).await?, count))
}

/// What lane by lane was made, in the order of the numbers.
fn interleave<T>(lanes: Vec<Vec<T>>, count: usize) -> Vec<T> {
    let mut lanes: Vec<_> = lanes.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let before = all.len();
        all.extend(lanes.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_numbers() {
        let lanes = (0..4).map(|lane| (lane..10).step_by(4).collect()).collect();
        assert_eq!(interleave(lanes, 10), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(interleave(Vec::<Vec<u8>>::new(), 0), Vec::<u8>::new());
    }
}
