//! Dates and times: parsing, printing, arithmetic, with zero parts as the server has them.
