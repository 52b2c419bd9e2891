//! Fuzz targets of every decoder.
#![forbid(unsafe_code)]
