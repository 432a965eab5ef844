use std::num::NonZeroUsize;
use std::sync::Arc;

use super::*;

#[derive(Default)]
struct Nothing {
    is_abandoned: bool,
    refused: Arc<Mutex<Vec<PoolBusy>>>,
}

impl Job for Nothing {
    fn is_awaited(&self) -> bool {
        !self.is_abandoned
    }

    fn begins(&self) -> bool {
        self.is_awaited()
    }

    fn run(self: Box<Self>, _memory: &mut HashMemory) -> Tell {
        Box::new(|_| ())
    }

    fn refuse(self: Box<Self>, busy: PoolBusy) {
        self.refused.lock().push(busy);
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn queue(threads: usize) -> Queue {
    let threads = NonZeroUsize::new(threads).unwrap();
    Queue::new(&HashPoolConfig { threads, ..HashPoolConfig::default() })
}

fn push(queue: &Queue, priority: Priority) -> Result<(), PoolBusy> {
    queue.reserve(priority)?;
    queue.push(priority, Box::new(Nothing::default()))
}

/// One login goes, and takes so long.
fn takes(queue: &Queue, took: Duration) {
    push(queue, Priority::Login).unwrap();
    let Next::Run(priority, _) = queue.next(None, None) else { panic!("there is work") };
    push(queue, Priority::Hardening).unwrap();
    let Next::Run(Priority::Hardening, _) = queue.next(None, Some((priority, took))) else {
        panic!("there is work")
    };
}

/// What goes in which order while both wait, where each login takes as long as `login`, and each client as long as `client`.
fn order((login, client): (Duration, Duration), jobs: usize) -> String {
    let queue = queue(1);
    let mut last = None;
    let mut order = String::new();
    for _ in 0..jobs {
        for priority in [Priority::Login, Priority::Login, Priority::ClientSecret] {
            let _ = push(&queue, priority);
        }
        let Next::Run(priority, _) = queue.next(None, last) else { panic!("there is work") };
        let (letter, took) = if priority == Priority::Login { ('l', login) } else { ('c', client) };
        order.push(letter);
        last = Some((priority, took));
    }
    order
}

#[test]
fn clients_whose_hashes_take_long_have_a_quarter_of_the_time() {
    assert_eq!(order((ms(80), ms(80)), 12), "lllclllclllc");
    let long = order((ms(80), ms(1_250)), 1_000);
    let clients = long.matches('c').count();
    let (of_clients, of_logins) = (clients * 1_250, (1_000 - clients) * 80);
    assert!(clients > 10, "{clients}");
    assert!(of_clients * 3 <= of_logins + 3 * 1_250 + clients * 250 * 3, "{of_clients} ms, {of_logins} ms");
}

/// How many logins begin to wait, and what is told to the next.
fn admitted(queue: &Queue) -> (usize, PoolBusy) {
    let mut count = 0;
    loop {
        match push(queue, Priority::Login) {
            Ok(()) => count += 1,
            Err(busy) => return (count, busy),
        }
    }
}

#[test]
fn as_many_logins_wait_as_are_done_in_two_seconds() {
    let full = |millis| PoolBusy::QueueFull { wait: ms(millis) };
    let one = queue(1);
    assert_eq!(admitted(&one), (64, full(0)), "how long they take is not known yet");
    let one = queue(1);
    takes(&one, ms(100));
    assert_eq!(admitted(&one), (21, full(2_100)));
    assert_eq!(one.metrics().rejected_total(Priority::Login), 1);
    let two = queue(2);
    takes(&two, ms(100));
    assert_eq!(admitted(&two), (41, full(2_050)));
    let slow = queue(1);
    takes(&slow, ms(20_000));
    assert_eq!(admitted(&slow), (3, full(10_000)), "nobody is told to come in a minute");
}

#[test]
fn clients_that_have_every_fourth_turn_are_time_that_logins_wait() {
    let queue = queue(1);
    takes(&queue, ms(100));
    push(&queue, Priority::ClientSecret).unwrap();
    assert_eq!(admitted(&queue), (16, PoolBusy::QueueFull { wait: ms(2_100) }));
}

#[test]
fn hardening_and_clients_wait_however_long_it_takes() {
    let queue = queue(1);
    takes(&queue, ms(1_000));
    for (priority, limit) in [(Priority::Hardening, 16), (Priority::ClientSecret, 64)] {
        for number in 0..limit {
            assert_eq!(push(&queue, priority), Ok(()), "{number}");
        }
        assert!(push(&queue, priority).is_err());
    }
}

#[test]
fn a_place_that_is_kept_is_taken_until_it_is_given_back() {
    let config = HashPoolConfig {
        queues: QueueLimits { login: 2, ..QueueLimits::default() },
        ..HashPoolConfig::default()
    };
    let queue = Queue::new(&config);
    for _ in 0..2 {
        queue.reserve(Priority::Login).unwrap();
    }
    assert!(queue.reserve(Priority::Login).is_err());
    assert_eq!(queue.metrics().queue_depth(Priority::Login), 0, "nothing waits yet");
    queue.give_back(Priority::Login);
    assert_eq!(queue.reserve(Priority::Login), Ok(()));
    queue.push(Priority::Login, Box::new(Nothing::default())).unwrap();
    assert!(queue.reserve(Priority::Login).is_err(), "the job has the place that was kept for it");
}

#[test]
fn who_left_is_no_time_that_others_wait() {
    let queue = queue(1);
    takes(&queue, ms(100));
    while queue.metrics().queue_depth(Priority::Login) < 21 {
        queue.reserve(Priority::Login).unwrap();
        let abandoned = Nothing { is_abandoned: true, ..Nothing::default() };
        queue.push(Priority::Login, Box::new(abandoned)).unwrap();
    }
    assert_eq!(push(&queue, Priority::Login), Ok(()));
    assert_eq!(queue.metrics().queue_depth(Priority::Login), 1);
}

#[test]
fn what_waited_for_too_long_is_refused_when_its_turn_comes_and_hardening_is_not() {
    let queue = Queue::new(&HashPoolConfig { longest_wait: Duration::ZERO, ..HashPoolConfig::default() });
    push(&queue, Priority::Hardening).unwrap();
    let refused: Arc<Mutex<Vec<PoolBusy>>> = Arc::default();
    queue.reserve(Priority::Login).unwrap();
    let late = Nothing { refused: Arc::clone(&refused), ..Nothing::default() };
    queue.push(Priority::Login, Box::new(late)).unwrap();
    let began = Instant::now();
    while began.elapsed().is_zero() {}
    let Next::Refuse(Priority::Login, job, busy) = queue.next(None, None) else { panic!("it was too late") };
    job.refuse(busy);
    assert_eq!(*refused.lock(), [PoolBusy::QueueFull { wait: Duration::ZERO }]);
    assert!(matches!(queue.next(None, None), Next::Run(Priority::Hardening, _)));
}
