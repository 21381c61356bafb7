// SPDX-License-Identifier: BSD-2-Clause
//! A plugin in Rust: `BTreeMap` under an `RwLock`. Differences from the template in C:
//!
//! - A panic must not unwind into the host. Each verb does its work in `guarded()`, which
//!   turns a panic into a failure with a text. A panic under the lock poisons the lock, so
//!   each later verb that takes it fails as well.
//! - The host knows only addresses. A database and a session are boxes. Open returns their
//!   addresses, close takes them back, and verbs borrow them in between. `unsafe` relies on
//!   the order of calls in engine.h: no call uses an address before open or after close, and
//!   only one thread uses a session.
//! - A lent value must outlive the call, and the session cannot keep a guard of the lock
//!   beside the data that it borrows from. So get and scans copy into buffers of the session.
//!
//! If memory is exhausted, Rust's standard library ends the process.

mod engine;

use engine::*;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::{PoisonError, RwLock};

/// Keys are bytes, so their order is that of memcmp(), a prefix first.
type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Db {
    host: &'static NbHost,
    map: RwLock<Map>,
}

/// The place where a scan continues.
enum Place {
    End, // the first record, or the last one if backward
    At,  // the session's key, inclusive
    Past,
}

struct Session {
    db: *const Db,
    key: Vec<u8>, // the last key of a scan, or its start
    value: Vec<u8>,
    place: Place,
    is_backward: bool,
    is_keys_only: bool,
}

impl Session {
    fn db(&self) -> &Db {
        // SAFETY: the database is closed after its sessions.
        unsafe { &*self.db }
    }
}

/// The answer of a verb, or the text of a failure.
type Answer = Result<c_int, Failure>;

struct Failure {
    code: c_int,
    text: String,
}

impl<T> From<PoisonError<T>> for Failure {
    fn from(_: PoisonError<T>) -> Failure {
        Failure {
            code: NB_FAIL,
            text: "a verb has panicked while it held the lock".to_string(),
        }
    }
}

fn fail<T>(code: c_int, text: &str) -> Result<T, Failure> {
    Err(Failure {
        code,
        text: text.to_string(),
    })
}

/// Do the work. A failure or a panic becomes the thread's error text.
fn guarded(host: &NbHost, work: impl FnOnce() -> Answer) -> c_int {
    // After a panic, the lock of its data is poisoned.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
                (Some(text), _) => text.to_string(),
                (_, Some(text)) => text.clone(),
                _ => "no text".to_string(),
            };
            Failure {
                code: NB_FAIL,
                text: format!("panicked: {}", text),
            }
        }
    };
    let text = failure.text;
    // SAFETY: "%.*s" takes an int and an address, and reads at most that number of bytes.
    unsafe {
        let format = "%.*s\0".as_ptr() as *const c_char;
        (host.fail)(
            failure.code,
            format,
            text.len() as c_int,
            text.as_ptr() as *const c_char,
        )
    }
}

/// SAFETY: the host has passed the slice, which lives until the verb returns.
unsafe fn bytes<'a>(slice: NbSlice) -> &'a [u8] {
    if slice.size == 0 {
        return &[]; // its address may be NULL
    }
    std::slice::from_raw_parts(slice.data as *const u8, slice.size)
}

fn lend(bytes: &[u8]) -> NbSlice {
    NbSlice {
        data: bytes.as_ptr() as *const c_void,
        size: bytes.len(),
    }
}

fn copy(to: &mut Vec<u8>, from: &[u8]) {
    to.clear();
    to.extend_from_slice(from);
}

unsafe extern "C" fn version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr() as *const c_char
}

// --- open and close ---

unsafe extern "C" fn open(out: *mut DbPtr, args: *const NbOpenArgs) -> c_int {
    let args = &*args;
    let host: &'static NbHost = &*args.host; // lives longer than any database
    guarded(host, || {
        if args.durability != NB_DUR_NONE {
            return fail(NB_UNSUPPORTED, "it is in memory: its durability is none");
        }
        if args.flags & NB_OPEN_CREATE == 0 {
            return fail(NB_FAIL, "no database: it ends with its process");
        }
        if args.cache_bytes != 0 {
            let text = "btreemap: all is in memory, so --cache does nothing\0";
            (host.log)(NB_LOG_WARNING, text.as_ptr() as *const c_char);
        }
        let db = Box::new(Db {
            host,
            map: RwLock::new(Map::new()),
        });
        *out = Box::into_raw(db) as DbPtr;
        Ok(NB_OK)
    })
}

unsafe extern "C" fn close(db: DbPtr) -> c_int {
    let db = Box::from_raw(db as *mut Db); // from open
    let host = db.host;
    guarded(host, || {
        drop(db);
        Ok(NB_OK)
    })
}

unsafe extern "C" fn session_open(out: *mut SessionPtr, db: DbPtr, _id: u32) -> c_int {
    let db = db as *const Db;
    guarded((*db).host, || {
        let session = Box::new(Session {
            db,
            key: Vec::new(),
            value: Vec::new(),
            place: Place::End,
            is_backward: false,
            is_keys_only: false,
        });
        *out = Box::into_raw(session) as SessionPtr;
        Ok(NB_OK)
    })
}

unsafe extern "C" fn session_close(session: SessionPtr) -> c_int {
    drop(Box::from_raw(session as *mut Session)); // from session_open; frees two buffers
    NB_OK
}

// --- records ---

unsafe extern "C" fn get(session: SessionPtr, key: NbSlice, value: *mut NbSlice) -> c_int {
    let session = &mut *(session as *mut Session);
    let host = session.db().host;
    guarded(host, || {
        // Use the pointer, so the map does not borrow the session itself.
        let map = (*session.db).map.read()?;
        match map.get(bytes(key)) {
            None => Ok(NB_NOT_FOUND),
            Some(found) => {
                copy(&mut session.value, found);
                *value = lend(&session.value);
                Ok(NB_OK)
            }
        }
    })
}

unsafe extern "C" fn put(session: SessionPtr, key: NbSlice, value: NbSlice) -> c_int {
    let db = (*(session as *const Session)).db();
    guarded(db.host, || {
        let (key, value) = (bytes(key).to_vec(), bytes(value).to_vec());
        let old = db.map.write()?.insert(key, value);
        drop(old); // after the release of the lock
        Ok(NB_OK)
    })
}

unsafe extern "C" fn del(session: SessionPtr, key: NbSlice) -> c_int {
    let db = (*(session as *const Session)).db();
    guarded(db.host, || {
        let old = db.map.write()?.remove(bytes(key));
        Ok(if old.is_some() { NB_OK } else { NB_NOT_FOUND })
    })
}

// --- scans ---

unsafe extern "C" fn scan_open(session: SessionPtr, args: *const NbScanArgs) -> c_int {
    let session = &mut *(session as *mut Session);
    let args = &*args;
    guarded(session.db().host, || {
        let from = bytes(args.from);
        copy(&mut session.key, from);
        session.place = if from.is_empty() {
            Place::End
        } else {
            Place::At
        };
        session.is_backward = args.flags & NB_SCAN_BACKWARD != 0;
        session.is_keys_only = args.flags & NB_SCAN_KEYS_ONLY != 0;
        Ok(NB_OK)
    })
}

/// Search for each record: a scan does not delay writers, and sees their later writes.
fn next_record<'a>(map: &'a Map, session: &Session) -> Option<(&'a Vec<u8>, &'a Vec<u8>)> {
    let key = session.key.as_slice();
    let bound = match session.place {
        Place::End => Unbounded,
        Place::At => Included(key),
        Place::Past => Excluded(key),
    };
    if session.is_backward {
        map.range::<[u8], _>((Unbounded, bound)).next_back()
    } else {
        map.range::<[u8], _>((bound, Unbounded)).next()
    }
}

unsafe extern "C" fn scan_next(
    session: SessionPtr,
    key: *mut NbSlice,
    value: *mut NbSlice,
) -> c_int {
    let session = &mut *(session as *mut Session);
    let host = session.db().host;
    guarded(host, || {
        let map = (*session.db).map.read()?;
        let (found_key, found_value) = match next_record(&map, session) {
            None => return Ok(NB_NOT_FOUND),
            Some(record) => record,
        };
        copy(
            &mut session.value,
            if session.is_keys_only {
                &[]
            } else {
                found_value
            },
        );
        copy(&mut session.key, found_key);
        session.place = Place::Past;
        *key = lend(&session.key);
        *value = lend(&session.value);
        Ok(NB_OK)
    })
}

unsafe extern "C" fn scan_close(_session: SessionPtr) -> c_int {
    NB_OK
}

// --- the table ---

const fn text(with_nul: &'static str) -> *const c_char {
    with_nul.as_ptr() as *const c_char
}

static ENGINE: NbEngine = NbEngine {
    abi: NB_ENGINE_ABI,
    size: std::mem::size_of::<NbEngine>() as u32,
    name: text("btreemap\0"),
    summary: text("BTreeMap of Rust under one read-write lock\0"),
    licence: text("MIT OR Apache-2.0\0"),
    home: text("https://doc.rust-lang.org/std/collections/struct.BTreeMap.html\0"),
    // The counterpart of NB_ENGINE_BUILD in C: cargo build without --release is not optimised.
    build: text(if cfg!(debug_assertions) {
        "debug\0"
    } else {
        "release\0"
    }),
    caps: NB_CAP_ORDERED | NB_CAP_CONCURRENT,
    durabilities: 1 << NB_DUR_NONE,
    auto_durability: NB_DUR_NONE,
    spare_u32: 0,
    key_size_max: 0,
    value_size_max: 0,
    options: std::ptr::null(),
    version,
    open,
    close,
    session_open,
    session_close,
    get,
    release: None,
    put,
    del,
    insert: None,
    scan_open: Some(scan_open),
    scan_next: Some(scan_next),
    scan_close: Some(scan_close),
    batch: None,
    multi_get: None,
    begin: None,
    commit: None,
    abort: None,
    submit: None,
    reap: None,
    tick: None,
    flush: None,
    checkpoint: None,
    stats: None,
    variant: None,
};

/// The host looks for this name.
#[no_mangle]
pub extern "C" fn nb_engine_plugin() -> *const NbEngine {
    // A panic would print its text, but a plugin never prints; guarded() passes the text to the
    // host. The plugin has its own standard library, so other panics are not silenced.
    set_hook(Box::new(|_| {}));
    &ENGINE
}
