//! The commands in the documentation are run, and what they print is compared with what the page shows.
//!
//! In a `console` block a line `$ bundlegate ...` (or `$ cargo run ... -- ...`, which means the same) is started in the
//! page's own folder; the lines below it are its output; `$ echo $?` is followed by its exit code. A line that ends in `\`
//! goes on in the next. `BUNDLEGATE_UPDATE_DOCS=1` writes the outputs anew; exit codes are never written, only compared.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const PAGES: [&str; 2] = ["README.md", "examples/README.md"];

/// One command of a `console` block.
struct Step {
    /// As the page shows it, without the `$ `.
    shown: String,
    output: String,
    exit: i32,
}

#[test]
fn pages_show_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let update = std::env::var_os("BUNDLEGATE_UPDATE_DOCS").is_some();
    for page in PAGES {
        let path = root.join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let folder = path.parent().unwrap();
        let mut commands = 0;
        let fresh = rewrite_blocks(&text, &mut |step| {
            commands += 1;
            let (output, exit) = run(folder, &step.shown);
            assert_eq!(
                exit, step.exit,
                "{page}: `{}` has another exit code",
                step.shown
            );
            output
        });
        assert!(commands > 0, "{page} shows no command");
        if update {
            std::fs::write(&path, fresh).unwrap();
        } else {
            assert_eq!(
                text, fresh,
                "{page} shows another output than the program prints; BUNDLEGATE_UPDATE_DOCS=1 writes it anew"
            );
        }
    }
}

/// The text with the output of every command in a `console` block replaced by what `run` returns for it.
fn rewrite_blocks(text: &str, run: &mut impl FnMut(&Step) -> String) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        writeln!(out, "{line}").unwrap();
        if line != "```console" {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        for mut step in steps(&block) {
            step.output = run(&step);
            writeln!(
                out,
                "$ {}\n{}$ echo $?\n{}",
                step.shown, step.output, step.exit
            )
            .unwrap();
        }
        out.push_str("```\n");
    }
    out
}

fn steps(block: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = block.iter();
    while let Some(first) = lines.next() {
        let mut shown = first
            .strip_prefix("$ ")
            .unwrap_or_else(|| panic!("expected a command, found `{first}`"))
            .to_owned();
        while shown.ends_with('\\') {
            shown.push('\n');
            shown.push_str(
                lines
                    .next()
                    .expect("a line after the one that ends in a backslash"),
            );
        }
        let mut output = String::new();
        loop {
            match lines.next() {
                Some(&"$ echo $?") => break,
                Some(line) => writeln!(output, "{line}").unwrap(),
                None => panic!("`{shown}` is not followed by `$ echo $?`"),
            }
        }
        let exit = lines.next().and_then(|line| line.parse().ok());
        steps.push(Step {
            exit: exit.unwrap_or_else(|| panic!("no exit code after `{shown}`")),
            shown,
            output,
        });
    }
    steps
}

/// Starts the program and returns its stdout and exit code.
fn run(folder: &Path, shown: &str) -> (String, i32) {
    let words: Vec<&str> = shown
        .split_whitespace()
        .filter(|word| *word != "\\")
        .collect();
    let args = match words.as_slice() {
        ["bundlegate", args @ ..] => args,
        ["cargo", "run", rest @ ..] => {
            let dashes = rest
                .iter()
                .position(|word| *word == "--")
                .expect("`--` before the program's arguments");
            &rest[dashes + 1..]
        }
        _ => panic!("`{shown}` starts neither bundlegate nor cargo run"),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_bundlegate"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.is_empty(), "`{shown}` writes to stderr: {stderr}");
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code().expect("an exit code"),
    )
}

#[test]
fn blocks_are_found_and_rewritten() {
    let page = "before\n```console\n$ bundlegate a \\\n  b\nold\n$ echo $?\n3\n$ bundlegate c\n$ echo $?\n0\n```\n```sh\n$ not this\n```\n";
    let mut seen = Vec::new();
    let fresh = rewrite_blocks(page, &mut |step| {
        seen.push((step.shown.clone(), step.output.clone(), step.exit));
        "new\n".to_owned()
    });
    assert_eq!(
        seen,
        [
            ("bundlegate a \\\n  b".to_owned(), "old\n".to_owned(), 3),
            ("bundlegate c".to_owned(), String::new(), 0)
        ]
    );
    assert_eq!(
        fresh,
        page.replace("old\n", "new\n")
            .replace("bundlegate c\n", "bundlegate c\nnew\n")
    );
}
