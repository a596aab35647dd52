//! The examples are programs that check themselves.
