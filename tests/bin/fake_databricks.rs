//! A stand-in for the Databricks CLI: it replays a recorded deploy against the fake workspace, and can misbehave.
//!
//! `FAKE_DATABRICKS` names a folder: `plan.json`, `bundle.json`, `summary.json`, `warnings.txt`, and for a deploy `after.json` and
//! `state-after.json`. `faults.json` may hold
//! `{"version": "...", "hang": "<command>", "fail": {"<command>": code}, "no_effect": true, "kill": true, "after": "<file>", "print": "..."}`.
//! It writes each call as a line of JSON to `calls.jsonl`, and the plan that it was given to `given-plan.json`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::panic,
    reason = "a program of the tests: what goes wrong here fails a test"
)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    let folder = PathBuf::from(std::env::var_os("FAKE_DATABRICKS").unwrap());
    let args: Vec<String> = std::env::args().skip(1).collect();
    let faults = read(&folder.join("faults.json")).unwrap_or_else(|| json!({}));
    let command = match args.first().map(String::as_str) {
        Some("bundle") => args[1].clone(),
        Some("--version") => "version".to_owned(),
        other => panic!("no command {other:?}"),
    };
    note(&folder, &args);
    if faults["hang"] == command.as_str() {
        fs::write(folder.join("hanging"), std::process::id().to_string()).unwrap();
        std::thread::sleep(Duration::from_secs(120));
    }
    if let Some(code) = faults["fail"][&command]
        .as_i64()
        .filter(|_| command != "deploy")
    {
        eprintln!("Error: the fake was told to fail at {command}");
        std::process::exit(i32::try_from(code).unwrap());
    }
    match command.as_str() {
        "version" => println!(
            "Databricks CLI v{}",
            faults["version"].as_str().unwrap_or("1.13.0")
        ),
        "plan" => {
            let deployed = folder.join("given-plan.json").exists();
            let after = faults["after"].as_str().unwrap_or("after.json");
            print(&folder.join(if deployed { after } else { "plan.json" }));
            eprint!(
                "{}",
                fs::read_to_string(folder.join("warnings.txt")).unwrap_or_default()
            );
        }
        "validate" => print(&folder.join("bundle.json")),
        "summary" => print(&folder.join("summary.json")),
        "deploy" => deploy(&folder, &args, &faults),
        other => panic!("no command bundle {other}"),
    }
}

fn read(path: &Path) -> Option<Value> {
    Some(serde_json::from_slice(&fs::read(path).ok()?).unwrap())
}

fn print(path: &Path) {
    print!("{}", fs::read_to_string(path).unwrap());
}

fn note(folder: &Path, args: &[String]) {
    let mut calls = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("calls.jsonl"))
        .unwrap();
    writeln!(calls, "{}", json!(args)).unwrap();
}

fn deploy(folder: &Path, args: &[String], faults: &Value) {
    let at = args.iter().position(|a| a == "--plan").unwrap();
    let bytes = fs::read(&args[at + 1]).unwrap();
    let plan: Value = serde_json::from_slice(&bytes).unwrap();
    println!("Uploading bundle files to /Workspace/x...");
    let asked = plan["plan"]
        .as_object()
        .unwrap()
        .iter()
        .any(|(key, entry)| {
            let kind = key.split('.').nth(1).unwrap();
            ["pipelines", "schemas", "volumes", "dashboards"].contains(&kind)
                && matches!(entry["action"].as_str(), Some("delete" | "recreate"))
        });
    if asked && !args.iter().any(|a| a == "--auto-approve") {
        eprintln!(
            "Error: the deployment requires destructive actions, but current console does not support prompting. Please specify --auto-approve if you would like to skip prompts and proceed"
        );
        std::process::exit(1);
    }
    // Standard input has nothing to read.
    assert_eq!(std::io::stdin().read(&mut [0]).unwrap(), 0);
    if let Some(text) = faults["print"].as_str() {
        println!("{text}");
    }
    if faults["no_effect"] != true {
        let after = faults["after"].as_str().unwrap_or("after.json");
        let bundle = read(&folder.join("bundle.json")).unwrap();
        let path = format!(
            "{}/resources.json",
            bundle["workspace"]["state_path"].as_str().unwrap()
        );
        let text = fs::read_to_string(folder.join("state-after.json")).unwrap();
        post(&json!({
            "plan": plan,
            "after": read(&folder.join(after)).unwrap(),
            "file": {"path": path, "text": text},
        }));
    }
    fs::write(folder.join("given-plan.json"), &bytes).unwrap();
    if faults["kill"] == true {
        // Half-way, as by the system's lack of memory.
        std::process::abort();
    }
    if let Some(code) = faults["fail"]["deploy"].as_i64() {
        eprintln!("Error: the fake was told to fail at deploy");
        std::process::exit(i32::try_from(code).unwrap());
    }
    println!("Files: 4 uploaded, 0 deleted");
}

/// Does to the fake workspace what the recorded deploy did.
fn post(body: &Value) {
    let host = std::env::var("DATABRICKS_HOST").unwrap();
    let address = host.strip_prefix("http://").unwrap();
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /fake/deploy HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
