//! SHOW and information_schema: tables whose rows are made when asked.
