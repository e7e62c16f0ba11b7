//! Prints a sum that many threads worked out, and what a child process said.

fn main() {
    let total = queue::hand_over(4, 5000);
    let words = shapes::count_words(&"alpha beta alpha ".repeat(20_000));
    let child = std::process::Command::new("echo").arg("child").output().expect("echo runs");
    println!("{total} {words:?} {}", String::from_utf8_lossy(&child.stdout).trim());
}
