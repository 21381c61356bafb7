// SPDX-License-Identifier: BSD-2-Clause
//! `<mininb/engine.h>` in Rust: its whole layout, and the constants that this plugin needs.
//!
//! The header is authoritative and describes the fields. Each structure is declared with the
//! offset of each field and its size, as mininb's `tests/abi.txt` freezes them. A different
//! declaration does not compile. `offset_of!` needs Rust 1.77, so the offsets are computed by
//! the rules of `repr(C)` (The Rust Reference, "Type layout"). The header has no padding
//! between fields, so each field begins at the end of the previous one.
//!
//! A verb that may be NULL is an `Option` of a function, which has the layout of the pointer.
#![allow(dead_code)] // a plugin does not use all items

use std::os::raw::{c_char, c_int, c_void};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the offsets here are those of 64-bit machines");

macro_rules! abi_struct {
    ($(#[$meta:meta])* $name:ident, $size:literal: $($offset:literal $field:ident: $type:ty,)*) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            $(pub $field: $type,)*
        }

        const _: () = {
            let mut at = 0;
            $(
                assert!(at == $offset, concat!(stringify!($name), ".", stringify!($field)));
                assert!(at % std::mem::align_of::<$type>() == 0, stringify!($field));
                at += std::mem::size_of::<$type>();
            )*
            assert!(at == $size, stringify!($name));
            assert!(std::mem::size_of::<$name>() == $size, stringify!($name));
        };
    };
}

pub const NB_ENGINE_ABI: u32 = 1;

pub const NB_OK: c_int = 0;
pub const NB_NOT_FOUND: c_int = 1;
pub const NB_CONFLICT: c_int = 2;
pub const NB_EXISTS: c_int = 3;
pub const NB_PENDING: c_int = 4;
pub const NB_FAIL: c_int = -1;
pub const NB_UNSUPPORTED: c_int = -2;

pub const NB_DUR_NONE: u32 = 0;
pub const NB_DUR_PROCESS: u32 = 1;
pub const NB_DUR_PERIODIC: u32 = 2;
pub const NB_DUR_COMMIT: u32 = 3;

pub const NB_CAP_ORDERED: u32 = 1 << 0;
pub const NB_CAP_PERSISTENT: u32 = 1 << 1;
pub const NB_CAP_CONCURRENT: u32 = 1 << 2;
pub const NB_CAP_ATOMIC_BATCH: u32 = 1 << 3;
pub const NB_CAP_SNAPSHOT: u32 = 1 << 4;
pub const NB_CAP_ZERO_COPY: u32 = 1 << 5;
pub const NB_CAP_MULTI_PROCESS: u32 = 1 << 6;
pub const NB_CAP_SYNTHETIC: u32 = 1 << 7;

pub const NB_OPEN_CREATE: u32 = 1 << 0;
pub const NB_OPEN_READ_ONLY: u32 = 1 << 1;

pub const NB_SCAN_BACKWARD: u32 = 1 << 0;
pub const NB_SCAN_KEYS_ONLY: u32 = 1 << 1;

pub const NB_BATCH_ATOMIC: u32 = 1 << 0;

pub const NB_LOG_INFO: u32 = 0;
pub const NB_LOG_WARNING: u32 = 1;

abi_struct! {
    /// Borrowed bytes; `data` may be NULL if `size` is 0.
    #[derive(Clone, Copy)]
    NbSlice, 16:
        0 data: *const c_void,
        8 size: usize,
}

abi_struct! {
    NbOption, 72:
        0 name: *const c_char,
        8 def: *const c_char,
        16 choices: *const c_char,
        24 unit: *const c_char,
        32 help: *const c_char,
        40 min: u64,
        48 max: u64,
        56 kind: u32, // "type" in C
        60 spare_u32: u32,
        64 spare_ptr: *const c_void,
}

#[repr(C)]
pub union NbOptionUnion {
    pub u64: u64,
    pub real: f64,
    pub text: *const c_char,
}

abi_struct! {
    NbOptionValue, 16:
        0 value: NbOptionUnion, // unnamed in C
        8 is_set: u32,
        12 spare_u32: u32,
}

abi_struct! {
    NbHost, 24:
        0 size: u32,
        4 abi: u32,
        8 fail: unsafe extern "C" fn(code: c_int, fmt: *const c_char, ...) -> c_int,
        16 log: unsafe extern "C" fn(level: u32, fmt: *const c_char, ...),
}

abi_struct! {
    NbOpenArgs, 72:
        0 size: u32,
        4 flags: u32,
        8 host: *const NbHost,
        16 path: *const c_char,
        24 options: *const NbOptionValue,
        32 cache_bytes: u64,
        40 records: u64,
        48 key_size: u64,
        56 value_size: u64,
        64 sessions: u32,
        68 durability: u32,
}

abi_struct! {
    NbScanArgs, 32:
        0 size: u32,
        4 flags: u32,
        8 from: NbSlice,
        24 limit: u64,
}

abi_struct! {
    NbWrite, 40:
        0 key: NbSlice,
        16 value: NbSlice,
        32 is_delete: u32,
        36 spare_u32: u32,
}

abi_struct! {
    NbRequest, 48:
        0 tag: u64,
        8 key: NbSlice,
        24 value: NbSlice,
        40 verb: u32,
        44 spare_u32: u32,
}

abi_struct! {
    NbCompletion, 32:
        0 tag: u64,
        8 value: NbSlice,
        24 answer: i32,
        28 spare_u32: u32,
}

/// The plugin defines `struct nb_db` and `struct nb_session`. The host knows only their addresses.
pub type DbPtr = *mut c_void;
pub type SessionPtr = *mut c_void;

pub type NbStatEmit = unsafe extern "C" fn(
    to: *mut c_void,
    name: *const c_char,
    unit: *const c_char,
    kind: u32,
    value: u64,
);

type OnDb = unsafe extern "C" fn(DbPtr) -> c_int;
type OnSession = unsafe extern "C" fn(SessionPtr) -> c_int;
type WithKey = unsafe extern "C" fn(SessionPtr, NbSlice) -> c_int;
type WithRecord = unsafe extern "C" fn(SessionPtr, NbSlice, NbSlice) -> c_int;

abi_struct! {
    NbEngine, 288:
        0 abi: u32,
        4 size: u32,
        8 name: *const c_char,
        16 summary: *const c_char,
        24 licence: *const c_char,
        32 home: *const c_char,
        40 build: *const c_char,
        48 caps: u32,
        52 durabilities: u32,
        56 auto_durability: u32,
        60 spare_u32: u32,
        64 key_size_max: u64,
        72 value_size_max: u64,
        80 options: *const NbOption,
        88 version: unsafe extern "C" fn() -> *const c_char,
        96 open: unsafe extern "C" fn(*mut DbPtr, *const NbOpenArgs) -> c_int,
        104 close: OnDb,
        112 session_open: unsafe extern "C" fn(*mut SessionPtr, DbPtr, u32) -> c_int,
        120 session_close: OnSession,
        128 get: unsafe extern "C" fn(SessionPtr, NbSlice, *mut NbSlice) -> c_int,
        136 release: Option<unsafe extern "C" fn(SessionPtr)>,
        144 put: WithRecord,
        152 del: WithKey,
        160 insert: Option<WithRecord>,
        168 scan_open: Option<unsafe extern "C" fn(SessionPtr, *const NbScanArgs) -> c_int>,
        176 scan_next: Option<unsafe extern "C" fn(SessionPtr, *mut NbSlice, *mut NbSlice) -> c_int>,
        184 scan_close: Option<OnSession>,
        192 batch: Option<unsafe extern "C" fn(SessionPtr, *const NbWrite, usize, u32) -> c_int>,
        200 multi_get: Option<unsafe extern "C" fn(SessionPtr, *const NbSlice, usize, *mut NbSlice, *mut i32) -> c_int>,
        208 begin: Option<unsafe extern "C" fn(SessionPtr, u32) -> c_int>,
        216 commit: Option<OnSession>,
        224 abort: Option<unsafe extern "C" fn(SessionPtr)>,
        232 submit: Option<unsafe extern "C" fn(SessionPtr, *const NbRequest, usize, *mut usize) -> c_int>,
        240 reap: Option<unsafe extern "C" fn(SessionPtr, *mut NbCompletion, usize, *mut usize, u64) -> c_int>,
        248 tick: Option<OnSession>,
        256 flush: Option<unsafe extern "C" fn(DbPtr, u32) -> c_int>,
        264 checkpoint: Option<OnDb>,
        272 stats: Option<unsafe extern "C" fn(DbPtr, NbStatEmit, *mut c_void)>,
        280 variant: Option<unsafe extern "C" fn(*const NbOptionValue) -> *const NbEngine>,
}

// SAFETY: nothing writes a table or the data behind its pointers, which live as long as the
// program.
unsafe impl Sync for NbEngine {}
