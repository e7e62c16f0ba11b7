//! Trait objects in boxes, strings and ordered maps.

use std::collections::{BTreeMap, HashMap};

pub trait Shape: Send {
    fn area(&self) -> u64;
    fn name(&self) -> String;
}

pub struct Square(pub u64);
pub struct Stack(pub Vec<Box<dyn Shape>>);

impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
    fn name(&self) -> String {
        format!("square{}", self.0)
    }
}

impl Shape for Stack {
    fn area(&self) -> u64 {
        self.0.iter().map(|shape| shape.area()).sum()
    }
    fn name(&self) -> String {
        self.0.iter().map(|shape| shape.name()).collect::<Vec<_>>().join("+")
    }
}

pub fn make(count: u64) -> Box<dyn Shape> {
    Box::new(Stack((0..count).map(|n| Box::new(Square(n)) as Box<dyn Shape>).collect()))
}

pub fn count_words(text: &str) -> BTreeMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_string()).or_default() += 1;
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_add_up() {
        for count in 0..500 {
            assert_eq!(make(count).area(), (0..count).map(|n| n * n).sum());
        }
    }

    #[test]
    fn words_are_counted() {
        let text = (0..50_000).map(|n| format!("w{} ", n % 321)).collect::<String>();
        let counts = count_words(&text);
        assert_eq!(counts.len(), 321);
        assert_eq!(counts.values().sum::<usize>(), 50_000);
    }

    #[test]
    fn aligned_and_zeroed_blocks() {
        use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
        for shift in 0..14 {
            for size in [1usize, 24, 100, 5000, 300_000] {
                let layout = Layout::from_size_align(size, 1 << shift).unwrap();
                unsafe {
                    let plain = alloc(layout);
                    assert!(!plain.is_null() && plain as usize % (1 << shift) == 0);
                    std::ptr::write_bytes(plain, 7, size);
                    let grown = realloc(plain, layout, size * 2);
                    assert!(!grown.is_null() && grown as usize % (1 << shift) == 0);
                    assert!(std::slice::from_raw_parts(grown, size).iter().all(|&b| b == 7));
                    dealloc(grown, Layout::from_size_align(size * 2, 1 << shift).unwrap());
                    let zeroed = alloc_zeroed(layout);
                    assert!(std::slice::from_raw_parts(zeroed, size).iter().all(|&b| b == 0));
                    dealloc(zeroed, layout);
                }
            }
        }
    }
}
