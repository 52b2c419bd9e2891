//! (under construction: trx_sys)
