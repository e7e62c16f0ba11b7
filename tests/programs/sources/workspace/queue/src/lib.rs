//! Boxes handed from thread to thread: taken by one, freed by another.

use shapes::Shape;
use std::sync::mpsc;
use std::thread;

pub fn hand_over(producers: u64, each: u64) -> u64 {
    let (sender, receiver) = mpsc::sync_channel::<Box<dyn Shape>>(64);
    let threads: Vec<_> = (0..producers)
        .map(|number| {
            let sender = sender.clone();
            thread::spawn(move || {
                for n in 0..each {
                    sender.send(shapes::make((n + number) % 30)).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let total = receiver.iter().map(|shape| shape.area() + shape.name().len() as u64).sum();
    for thread in threads {
        thread.join().unwrap();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_threads() {
        let one = |n: u64| shapes::make(n).area() + shapes::make(n).name().len() as u64;
        let expected: u64 = (0..8).map(|p| (0..2000).map(|n| one((n + p) % 30)).sum::<u64>()).sum();
        assert_eq!(hand_over(8, 2000), expected);
    }

    #[test]
    fn a_thousand_short_threads() {
        for round in 0..50 {
            let threads: Vec<_> = (0..20).map(|n| thread::spawn(move || vec![n as u8; 1000 * n + round])).collect();
            for (n, thread) in threads.into_iter().enumerate() {
                let bytes = thread.join().unwrap();
                assert_eq!(bytes.len(), 1000 * n + round);
                assert!(bytes.iter().all(|&b| b == n as u8));
            }
        }
    }
}
