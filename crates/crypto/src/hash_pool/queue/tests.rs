use std::num::NonZeroUsize;
use std::sync::Arc;

use super::*;

#[derive(Default)]
struct Nothing {
    is_abandoned: bool,
    may_be_late: bool,
    refused: Arc<Mutex<Vec<PoolBusy>>>,
}

impl Job for Nothing {
    fn may_be_late(&self) -> bool {
        self.may_be_late
    }

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
    queue.reserve(priority, Giving::InVain)?;
    queue.push(priority, Box::new(Nothing::default()))
}

/// What a thread does next that asks then.
fn take_at(queue: &Queue, now: Instant) -> Option<Next> {
    queue.take(&mut queue.waiting.lock(), now)
}

/// One job goes, and takes so long.
fn takes(queue: &Queue, (priority, took): (Priority, Duration)) {
    push(queue, priority).unwrap();
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
    assert_eq!(admitted(&one), (21, full(2_100)), "how long they take is not known yet");
    let one = queue(1);
    takes(&one, (Priority::Login, ms(100)));
    assert_eq!(admitted(&one), (21, full(2_100)));
    assert_eq!(one.metrics().rejected_total(Priority::Login), 1);
    let two = queue(2);
    takes(&two, (Priority::Login, ms(100)));
    assert_eq!(admitted(&two), (41, full(2_050)));
    let slow = queue(1);
    takes(&slow, (Priority::Login, ms(20_000)));
    assert_eq!(admitted(&slow), (3, full(10_000)), "nobody is told to come in a minute");
}

#[test]
fn so_many_places_are_there_for_logins_that_all_come_at_once() {
    for (took, expected) in [(ms(1), 64), (ms(100), 21), (ms(400), 6), (ms(20_000), 3)] {
        let queue = queue(1);
        takes(&queue, (Priority::Login, took));
        assert_eq!(queue.login_places(), expected, "{took:?}");
        let kept = (0..100).filter(|_| queue.reserve(Priority::Login, Giving::InVain).is_ok()).count();
        assert_eq!(kept, expected, "{took:?}");
        assert_eq!(queue.login_places(), expected, "however many are taken");
    }
}

/// How many of those that began to wait are refused when their turn comes, where logins come as fast as there is room for them. Each takes
/// as long as the mean, or up to a tenth more or less.
fn refused_at_their_turn(threads: usize, mean: Duration) -> usize {
    let queue = queue(threads);
    takes(&queue, (Priority::Login, mean));
    let come_at = |now| {
        while queue.reserve(Priority::Login, Giving::InVain).is_ok() {
            queue.push_at(now, Priority::Login, Box::new(Nothing::default())).unwrap();
        }
    };
    let began = Instant::now();
    let mut threads = vec![(began, None); threads];
    let mut refused = 0;
    come_at(began);
    for turn in 0..500_u32 {
        let thread = threads.iter_mut().min_by_key(|(free_at, _)| *free_at).unwrap();
        let (now, last) = *thread;
        if let Some(took) = last {
            queue.waiting.lock().note(Priority::Login, took);
        }
        while let Some(Next::Refuse(..)) = take_at(&queue, now) {
            refused += 1;
        }
        come_at(now);
        let took = mean * (90 + turn * 7 % 21) / 100;
        *thread = (now + took, Some(took));
    }
    refused
}

#[test]
fn who_begins_to_wait_in_a_rush_has_a_turn_however_long_a_hash_takes() {
    for mean in [100, 200, 333, 400, 500, 650, 800, 1_000, 1_300, 2_000].map(ms) {
        for threads in [1, 2, 4] {
            assert_eq!(refused_at_their_turn(threads, mean), 0, "{threads} threads, {mean:?}");
        }
    }
}

#[test]
fn clients_that_go_between_logins_are_time_that_these_wait() {
    for (clients, each, expected) in [(1, ms(100), 20), (64, ms(100), 16), (1, ms(1_000), 11)] {
        let queue = queue(1);
        takes(&queue, (Priority::Login, ms(100)));
        takes(&queue, (Priority::ClientSecret, each));
        for _ in 0..clients {
            push(&queue, Priority::ClientSecret).unwrap();
        }
        let full = PoolBusy::QueueFull { wait: ms(2_100) };
        assert_eq!(admitted(&queue), (expected, full), "{clients} clients, {each:?}");
    }
}

#[test]
fn clients_that_wait_until_logins_have_had_their_time_are_none_that_these_wait_for() {
    let queue = queue(1);
    takes(&queue, (Priority::Login, ms(100)));
    takes(&queue, (Priority::ClientSecret, ms(2_000)));
    push(&queue, Priority::ClientSecret).unwrap();
    queue.waiting.lock().owed = ms(3_000);
    assert_eq!(admitted(&queue), (21, PoolBusy::QueueFull { wait: ms(2_100) }));
}

#[test]
fn what_follows_something_spent_waits_however_long_it_takes_but_is_counted() {
    let queue = queue(1);
    takes(&queue, (Priority::Login, ms(1_000)));
    let (logins, _) = admitted(&queue);
    assert_eq!(logins, 3);
    for number in logins..64 {
        assert_eq!(queue.reserve(Priority::Login, Giving::Never), Ok(()), "{number}");
    }
    assert!(queue.reserve(Priority::Login, Giving::Never).is_err());
}

#[test]
fn hardening_and_clients_wait_however_long_it_takes() {
    let queue = queue(1);
    takes(&queue, (Priority::Login, ms(1_000)));
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
    let reserve = || queue.reserve(Priority::Login, Giving::InVain);
    for _ in 0..2 {
        reserve().unwrap();
    }
    assert!(reserve().is_err());
    assert_eq!(queue.metrics().queue_depth(Priority::Login), 0, "nothing waits yet");
    queue.give_back(Priority::Login);
    assert_eq!(reserve(), Ok(()));
    queue.push(Priority::Login, Box::new(Nothing::default())).unwrap();
    assert!(reserve().is_err(), "the job has the place that was kept for it");
}

#[test]
fn who_left_is_no_time_that_others_wait() {
    let queue = queue(1);
    takes(&queue, (Priority::Login, ms(100)));
    while queue.metrics().queue_depth(Priority::Login) < 21 {
        queue.reserve(Priority::Login, Giving::InVain).unwrap();
        let abandoned = Nothing { is_abandoned: true, ..Nothing::default() };
        queue.push(Priority::Login, Box::new(abandoned)).unwrap();
    }
    assert_eq!(push(&queue, Priority::Login), Ok(()));
    assert_eq!(queue.metrics().queue_depth(Priority::Login), 1);
}

#[test]
fn what_waited_too_long_is_refused_at_its_turn_but_not_what_follows_something_spent_nor_hardening() {
    let queue = queue(1);
    takes(&queue, (Priority::Login, ms(100)));
    let (began, refused) = (Instant::now(), Arc::<Mutex<Vec<PoolBusy>>>::default());
    queue.push_at(began, Priority::Hardening, Box::new(Nothing::default())).unwrap();
    for may_be_late in [false, false, true] {
        let late = Nothing { may_be_late, refused: Arc::clone(&refused), ..Nothing::default() };
        queue.push_at(began, Priority::Login, Box::new(late)).unwrap();
    }
    let in_time = take_at(&queue, began + ms(2_600));
    assert!(matches!(in_time, Some(Next::Run(Priority::Login, _))));
    let late = began + ms(2_601);
    let Some(Next::Refuse(Priority::Login, job, busy)) = take_at(&queue, late) else {
        panic!("it was too late")
    };
    job.refuse(busy);
    assert_eq!(*refused.lock(), [PoolBusy::QueueFull { wait: ms(100) }]);
    assert!(matches!(take_at(&queue, late), Some(Next::Run(Priority::Login, _))));
    assert!(matches!(take_at(&queue, late), Some(Next::Run(Priority::Hardening, _))));
}
