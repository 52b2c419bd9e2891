//! After a crash: unfinished transactions get their locks back and are rolled back, those of the dictionary first;
//! interrupted DDL is finished or undone.
