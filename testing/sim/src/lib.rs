//! Whole-storage simulation under power cuts and disk faults.
#![forbid(unsafe_code)]
