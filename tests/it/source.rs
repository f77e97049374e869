//! The source of a deploy against real repositories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bundlegate::approval::statement::SourceTree;
use bundlegate::host::git::{Git, GitError};
use bundlegate::host::manifest::OwnFiles;
use bundlegate::host::source::{ARTIFACT_GLOBS, SourceFacts, SourceQuery, inspect};
use bundlegate::host::sync::SyncGlobs;

struct Repo {
    folder: tempfile::TempDir,
}

impl Repo {
    fn new() -> Self {
        let repo = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        repo.git(&["init", "-q", "-b", "main"]);
        repo.write(".gitignore", "dist/\n*.secret\n.databricks/\n");
        repo.write("etl.py", "print(1)\n");
        repo.write("sub/report.sql", "select 1\n");
        repo.commit("first");
        repo
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=Ann",
                "-c",
                "user.email=ann@x",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in(self.folder.path(), args)
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn facts(&self) -> SourceFacts {
        self.facts_with(&SyncGlobs::default(), &OwnFiles::default())
    }

    fn facts_with(&self, sync: &SyncGlobs, own: &OwnFiles) -> SourceFacts {
        facts_of(self.folder.path(), sync, own)
    }

    fn differences(&self) -> Vec<String> {
        self.facts()
            .differences
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}

fn facts_of(folder: &Path, sync: &SyncGlobs, own: &OwnFiles) -> SourceFacts {
    inspect(SourceQuery {
        folder,
        sync,
        own,
        artifacts: &ARTIFACT_GLOBS,
    })
    .unwrap()
}

fn include(patterns: &[&str]) -> SyncGlobs {
    SyncGlobs {
        include: patterns.iter().map(|&p| p.to_owned()).collect(),
        ..SyncGlobs::default()
    }
}

#[test]
fn a_clean_tree() {
    let repo = Repo::new();
    repo.write("x.secret", "ignored, and not uploaded");
    repo.write(".databricks/bundle/prod/resources.json", "{}");
    let facts = repo.facts();
    assert_eq!(facts.differences, []);
    assert!(!facts.is_shallow);
    let SourceTree::Git {
        commit,
        tree,
        folder,
        clean,
        changes,
    } = facts.source.tree
    else {
        panic!("a repository is there");
    };
    assert_eq!(commit.as_str(), repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(tree.as_str(), repo.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!((folder.as_str(), clean, changes), ("", true, None));
}

#[test]
fn every_change_is_listed_and_bound() {
    let repo = Repo::new();
    repo.write("etl.py", "print(2)\n");
    fs::remove_file(repo.path("sub/report.sql")).unwrap();
    repo.write("sub/new file.py", "x");
    insta::assert_snapshot!(repo.differences().join("\n"), @"
    etl.py: modified
    sub/new file.py: untracked
    sub/report.sql: deleted
    ");
    let changes = |repo: &Repo| match repo.facts().source.tree {
        SourceTree::Git {
            clean: false,
            changes: Some(changes),
            ..
        } => changes,
        other => panic!("{other:?}"),
    };
    let before = changes(&repo);
    assert_eq!(before, changes(&repo));
    repo.write("etl.py", "print(3)\n");
    assert_ne!(before, changes(&repo));
    repo.write("etl.py", "print(2)\n");
    assert_eq!(before, changes(&repo));
    // Staged or not makes no difference: what counts is what would ship.
    repo.git(&["add", "-A"]);
    assert_eq!(before, changes(&repo));
}

#[test]
fn gits_index_cannot_hide_a_change() {
    let repo = Repo::new();
    repo.git(&["update-index", "--assume-unchanged", "etl.py"]);
    repo.git(&["update-index", "--skip-worktree", "sub/report.sql"]);
    repo.write("etl.py", "print(2)\n");
    repo.write("sub/report.sql", "select 2\n");
    assert_eq!(repo.git(&["status", "--short"]), "");
    assert_eq!(
        repo.differences(),
        ["etl.py: modified", "sub/report.sql: modified"]
    );
    // The repository is left as it was.
    assert_eq!(repo.git(&["ls-files", "-v", "etl.py"]), "h etl.py");
}

#[test]
fn a_replaced_object_does_not_count() {
    let repo = Repo::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write("etl.py", "print(2)\n");
    let second = repo.commit("second");
    repo.git(&["checkout", "-q", &first]);
    repo.git(&["replace", &first, &second]);
    repo.write("etl.py", "print(2)\n");
    assert_eq!(repo.differences(), ["etl.py: modified"]);
}

#[test]
fn ignored_files_that_sync_uploads() {
    let repo = Repo::new();
    repo.write("a.secret", "x");
    repo.write("sub/b.secret", "x");
    let globs = include(&["sub/*.secret"]);
    let facts = repo.facts_with(&globs, &OwnFiles::default());
    let listed: Vec<_> = facts.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        listed,
        ["sub/b.secret: ignored by git, uploaded by sync.include"]
    );
    let excluded = SyncGlobs {
        exclude: vec!["sub/b*".to_owned()],
        ..globs.clone()
    };
    assert_eq!(
        repo.facts_with(&excluded, &OwnFiles::default()).differences,
        []
    );
    // Seen from the bundle's folder, patterns start there.
    let nested = facts_of(
        &repo.path("sub"),
        &include(&["*.secret"]),
        &OwnFiles::default(),
    );
    assert_eq!(nested.differences.len(), 1);
    let SourceTree::Git { folder, .. } = nested.source.tree else {
        panic!()
    };
    assert_eq!(folder, "sub");
}

#[test]
fn built_files_are_bound_by_their_digests() {
    let repo = Repo::new();
    repo.write("dist/app-1.0-py3-none-any.whl", "wheel");
    repo.write("dist/notes.txt", "x");
    repo.write(".venv/lib/dist/foreign.whl", "x");
    repo.write("env/pyvenv.cfg", "");
    repo.write("env/dist/foreign.whl", "x");
    repo.write(".gitignore", "dist/\nenv/\n.venv/\n");
    repo.commit("ignore");
    let facts = repo.facts_with(&include(&["dist/*.whl"]), &OwnFiles::default());
    assert_eq!(facts.differences, []);
    let [only] = facts.source.artifacts.as_slice() else {
        panic!("{facts:?}")
    };
    assert_eq!(
        (only.path.as_str(), only.size),
        ("dist/app-1.0-py3-none-any.whl", 5)
    );
    assert_eq!(only.sha256, bundlegate::approval::Sha256Hex::of(b"wheel"));
}

#[test]
fn the_gates_own_files_do_not_count_and_others_beside_them_do() {
    let repo = Repo::new();
    repo.write("plan.json", "{}");
    repo.write("gate.jsonl", "{}");
    repo.write("approvals/1.json", "{}");
    repo.write("approvals/evil.py", "x");
    repo.write("approvals/deep/2.json", "{}");
    let own = OwnFiles::default()
        .file(&repo.path("plan.json"))
        .file(&repo.path("gate.jsonl"))
        .folder(&repo.path("approvals"), "*.json");
    let facts = repo.facts_with(&SyncGlobs::default(), &own);
    let listed: Vec<_> = facts.differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        listed,
        [
            "approvals/deep/2.json: untracked",
            "approvals/evil.py: untracked"
        ]
    );
}

#[test]
fn an_unfetched_lfs_file_would_ship_as_its_pointer() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 5\n",
        "0".repeat(64)
    );
    repo.write("model.bin", &pointer);
    repo.write("pointer.txt", &pointer);
    repo.commit("lfs");
    assert_eq!(
        repo.differences(),
        ["model.bin: git LFS pointer, not fetched (git lfs pull)"]
    );
}

#[cfg(unix)]
#[test]
fn links_out_of_the_commit_are_named() {
    use std::os::unix::fs::symlink;

    let repo = Repo::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("code.py"), "x").unwrap();
    symlink("etl.py", repo.path("good.py")).unwrap();
    symlink("sub", repo.path("folder")).unwrap();
    symlink(outside.path().join("code.py"), repo.path("out.py")).unwrap();
    symlink("../../nowhere", repo.path("sub/dangling.py")).unwrap();
    symlink("x.secret", repo.path("ignored.py")).unwrap();
    repo.write("x.secret", "x");
    repo.commit("links");
    let facts = repo.facts();
    let listed: Vec<_> = facts.differences.iter().map(|d| d.path.as_str()).collect();
    assert_eq!(listed, ["ignored.py", "out.py", "sub/dangling.py"]);
    assert!(facts.differences.iter().all(|d| !d.kind.is_bound()));
}

#[test]
fn submodules() {
    let library = Repo::new();
    let repo = Repo::new();
    let url = library.folder.path().to_str().unwrap().to_owned();
    repo.git(&["submodule", "add", "-q", &url, "lib"]);
    repo.commit("submodule");
    assert_eq!(repo.differences(), Vec::<String>::new());
    repo.write("lib/etl.py", "print(2)\n");
    repo.git_in(
        &repo.path("lib"),
        &["update-index", "--assume-unchanged", "etl.py"],
    );
    assert_eq!(repo.differences(), ["lib/etl.py: modified"]);
    repo.git_in(
        &repo.path("lib"),
        &["update-index", "--no-assume-unchanged", "etl.py"],
    );
    repo.git_in(&repo.path("lib"), &["commit", "-q", "-a", "-m", "moved"]);
    assert_eq!(repo.differences(), ["lib: submodule at another commit"]);
    fs::remove_dir_all(repo.path("lib")).unwrap();
    fs::create_dir(repo.path("lib")).unwrap();
    assert_eq!(
        repo.differences(),
        ["lib: submodule not checked out (git submodule update --init)"]
    );
}

#[test]
fn a_repository_in_the_tree_is_looked_into() {
    let repo = Repo::new();
    repo.write("nested/code.py", "x");
    repo.git_in(&repo.path("nested"), &["init", "-q"]);
    assert_eq!(repo.differences(), ["nested/code.py: untracked"]);
}

#[test]
fn a_sparse_checkout_lacks_files() {
    let repo = Repo::new();
    repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/sub/"]);
    assert_eq!(repo.differences(), ["sub/report.sql: deleted"]);
}

#[test]
fn a_shallow_clone_is_said() {
    let repo = Repo::new();
    repo.write("etl.py", "print(2)\n");
    repo.commit("second");
    let clone = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.folder.path().display());
    repo.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        &url,
        clone.path().to_str().unwrap(),
    ]);
    let facts = facts_of(clone.path(), &SyncGlobs::default(), &OwnFiles::default());
    assert!(facts.is_shallow);
    assert_eq!(facts.differences, []);
}

#[test]
fn outside_git_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("a.py", "1");
    write("sub/b.py", "2");
    write(".gitignore", "*.log\n");
    let digest =
        |globs: &SyncGlobs, own: &OwnFiles| match facts_of(folder.path(), globs, own).source.tree {
            SourceTree::Manifest { sha256, files } => (sha256, files),
            other => panic!("{other:?}"),
        };
    let plain = |globs: &SyncGlobs| digest(globs, &OwnFiles::default());
    let none = SyncGlobs::default();
    let before = plain(&none);
    assert_eq!(before.1, 3);
    // Ignored files do not ship, unless `sync` says so.
    write("x.log", "1");
    write(".databricks/x", "1");
    assert_eq!(plain(&none), before);
    assert_eq!(plain(&include(&["*.log"])).1, 4);
    write("plan.json", "{}");
    assert_ne!(plain(&none), before);
    let own = OwnFiles::default().file(&folder.path().join("plan.json"));
    assert_eq!(digest(&none, &own), before);
    write("sub/b.py", "3");
    assert_ne!(digest(&none, &own), before);
    write("sub/b.py", "2");
    fs::rename(folder.path().join("a.py"), folder.path().join("c.py")).unwrap();
    assert_ne!(digest(&none, &own), before);
}

#[cfg(unix)]
#[test]
fn outside_git_modes_count_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.py"), "1").unwrap();
    fs::write(folder.path().join("a.py"), "1").unwrap();
    let facts = || facts_of(folder.path(), &SyncGlobs::default(), &OwnFiles::default());
    let before = facts().source.tree;
    fs::set_permissions(
        folder.path().join("a.py"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    assert_ne!(facts().source.tree, before);
    symlink(outside.path(), folder.path().join("link")).unwrap();
    let with_link = facts();
    let listed: Vec<_> = with_link
        .differences
        .iter()
        .map(|d| d.path.as_str())
        .collect();
    assert_eq!(listed, ["link"]);
    fs::write(outside.path().join("y.py"), "1").unwrap();
    assert_eq!(facts(), with_link);
}

#[test]
fn a_file_out_of_a_ref() {
    let repo = Repo::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["checkout", "-q", "-b", "change"]);
    repo.write("etl.py", "print(2)\n");
    repo.commit("second");
    let git = Git::open(&repo.path("sub")).unwrap();
    let read = |reference: &str, path: &str| git.file_at(reference, path);
    let file = read("main", "etl.py").unwrap();
    assert_eq!(
        (file.bytes.as_slice(), file.commit.as_str()),
        (&b"print(1)\n"[..], first.as_str())
    );
    assert_eq!(read("change", "etl.py").unwrap().bytes, b"print(2)\n");
    assert_eq!(read("HEAD", "etl.py").unwrap().bytes, b"print(2)\n");
    assert_eq!(read(&first, "etl.py").unwrap().bytes, b"print(1)\n");
    assert_eq!(
        read("refs/heads/main", "sub/report.sql").unwrap().bytes,
        b"select 1\n"
    );
    assert!(matches!(
        read("main", "missing"),
        Err(GitError::NoFile { .. })
    ));
    assert!(matches!(
        read("main", "sub"),
        Err(GitError::NotAFile { .. })
    ));
    assert!(matches!(read("main", "*.py"), Err(GitError::NoFile { .. })));
    assert!(matches!(
        read("origin/main", "etl.py"),
        Err(GitError::NoRef { .. })
    ));
    assert!(matches!(
        read(&first[..8], "etl.py"),
        Err(GitError::NoRef { .. })
    ));
    assert!(matches!(
        read("--help", "etl.py"),
        Err(GitError::RefName { .. })
    ));
    for path in ["../etl.py", "/etl.py", "", "./etl.py", "sub//report.sql"] {
        assert!(
            matches!(read("main", path), Err(GitError::Path { .. })),
            "{path}"
        );
    }
    // Whoever can push a tag of that name does not choose what is read.
    repo.git(&["tag", "main", "change"]);
    let error = read("main", "etl.py").unwrap_err();
    insta::assert_snapshot!(error, @r#"the ref "main" is ambiguous (refs/heads/main, refs/tags/main): write it out in full"#);
    assert_eq!(
        read("refs/heads/main", "etl.py").unwrap().bytes,
        b"print(1)\n"
    );
    assert_eq!(git.authors(None).unwrap(), ["ann@x"]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_a_ref_is_refused() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("etl.py", repo.path("policy.yml")).unwrap();
    repo.commit("link");
    let git = Git::open(repo.folder.path()).unwrap();
    let error = git.file_at("main", "policy.yml").unwrap_err();
    assert!(matches!(error, GitError::NotAFile { .. }));
}

#[test]
fn authors_of_a_change() {
    let repo = Repo::new();
    repo.git(&["checkout", "-q", "-b", "change"]);
    repo.write("etl.py", "print(2)\n");
    repo.git(&["add", "-A"]);
    repo.git(&[
        "commit",
        "-q",
        "--author=Bob <bob@x>",
        "-m",
        "second\n\nCo-authored-by: Cyd <cyd@x>",
    ]);
    repo.write("etl.py", "print(3)\n");
    repo.git(&["add", "-A"]);
    repo.git(&[
        "commit",
        "-q",
        "--author=Dan <dan@x>",
        "-m",
        "third\n\nco-authored-by: Eve <eve@x>\n\n* a list, as a squash writes it\n\nSigned-off-by: Dan <dan@x>",
    ]);
    let git = Git::open(repo.folder.path()).unwrap();
    assert_eq!(
        git.authors(Some(&git.resolve("main").unwrap())).unwrap(),
        ["bob@x", "cyd@x", "dan@x", "eve@x"]
    );
}

#[test]
fn what_git_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        Git::open(folder.path()),
        Err(GitError::NotARepository { .. })
    ));
    let empty = tempfile::tempdir().unwrap();
    let repo = Repo::new();
    repo.git_in(empty.path(), &["init", "-q"]);
    assert!(matches!(
        Git::open(empty.path()).unwrap().head(),
        Err(GitError::NoCommit { .. })
    ));
    let bare = tempfile::tempdir().unwrap();
    repo.git_in(bare.path(), &["init", "-q", "--bare"]);
    assert!(matches!(
        Git::open(bare.path()),
        Err(GitError::NoWorkingTree { .. })
    ));
}

/// Needs the right to give files away, so it runs where tests run as root (as in a container) and says so elsewhere.
#[cfg(unix)]
#[test]
fn a_repository_of_somebody_else() {
    let repo = Repo::new();
    let top = repo.folder.path();
    if std::os::unix::fs::chown(top, Some(12_345), None).is_err() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let error = Git::open(top).unwrap_err();
    assert!(
        matches!(error, GitError::DubiousOwnership { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("safe.directory"));
}
